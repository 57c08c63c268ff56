/** What `Database.ask` returns: on SQLite the answer itself, on PostgreSQL a promise of it. */
export type Answer<T> = T | Promise<T>;

/**
 * Goes on with the answer: now if it is there, or when its promise resolves. For what runs with every request and every
 * delivery, where an `await` of a value would cost half a microsecond. Elsewhere `await` reads better.
 */
export function whenAnswered<T, Next>(
  answer: Answer<T>,
  goOn: (value: T) => Next | Promise<Next>,
): Answer<Next> {
  return answer instanceof Promise ? answer.then(goOn) : goOn(answer);
}
