import type { ErrorCode } from "../../src/errors.ts";

/**
 * The exit status for each error: 1 refused or failed, 2 wrong usage, 3 not found, 4 files of the data folder were
 * replaced or removed while in use, 5 the data is damaged or of a newer version. The service is not started again after
 * 2, 3 and 5 (`packaging/parley.service`).
 */
export const exitStatusOf: Record<ErrorCode, number> = {
  usage: 2,
  not_found: 3,
  invalid: 1,
  unauthenticated: 1,
  forbidden: 1,
  conflict: 1,
  gone: 1,
  method_not_allowed: 1,
  too_large: 1,
  unsupported_media_type: 1,
  rate_limited: 1,
  bad_request: 1,
  busy: 1,
  unavailable: 1,
  unwritable: 1,
  data_too_new: 5,
  key_missing: 1,
  data_damaged: 5,
  data_lost: 4,
};
