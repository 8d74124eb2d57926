/** Which queue names are allowed, so that no store confuses a queue with a key of its own. */
import { invalidQueueName } from './errors';

/** Endings and parts of the keys that belong to a queue. */
const RESERVED =
  /:(?:delayed|reserved|notify|failed|failed:jobs|queues|control|cancelled|cancelled:reasons)$|:(?:client|lock):/;

/** The problem of a comma where one name is expected. A worker takes several, and has its own words. */
const ONE_QUEUE = "a job goes to one queue; a list of queues is the worker's";

/**
 * @param subject whose queue it is, as the error names it: "queue on SendEmail"
 * @param listed the problem to report for a name with a comma
 * @throws E_INVALID_QUEUE_NAME
 */
export function checkQueueName(name: unknown, subject: string, listed = ONE_QUEUE): asserts name is string {
  const problem = problemOf(name, listed);
  if (problem !== undefined) throw invalidQueueName(name, subject, problem);
}

function problemOf(name: unknown, listed: string): string | undefined {
  if (typeof name !== 'string' || name === '') return 'give a string of at least one character';
  if (name.includes(',')) return listed;
  if (/\s/.test(name)) return 'leave out the white space';
  // One store would refuse it, and another would keep it under a different name.
  if (/\p{Cc}/u.test(name) || !name.isWellFormed()) return 'leave out control characters and halves of characters';
  if (/[{}]/.test(name))
    return 'leave out { and }: they choose the slot in a Redis cluster, and Onqueue sets them itself';
  if (name.startsWith(':')) return "do not begin it with ':', as Onqueue's own keys do";
  const reserved = RESERVED.exec(name);
  return reserved === null ? undefined : `'${reserved[0]}' is used by Onqueue's own keys; choose another name`;
}
