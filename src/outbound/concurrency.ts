/**
 * How many requests to receivers that respond quickly are usually in flight at once. The delivery queue shares out this
 * many (`quickShared` in src/deliveries/places.ts), and as many connections are kept open between deliveries.
 */
export const usualConcurrency = 120;
