/** Which names a queue may bear, so that no store confuses it with a key of its own. */
import { invalidQueueName } from './errors';

/** Endings and parts of the keys that stand beside a queue's list. */
const RESERVED =
  /:(?:delayed|reserved|notify|failed|failed:jobs|queues|control|cancelled|cancelled:reasons)$|:(?:client|lock):/;

/** Said where one name is expected. A worker takes several, and has its own words for it. */
const ONE_QUEUE = "a job goes to one queue; a list of queues is the worker's";

/**
 * @param subject whose queue it is, as the error says it: "queue on SendEmail"
 * @param listed what to say of a name with a comma
 * @throws E_INVALID_QUEUE_NAME
 */
export function checkQueueName(name: unknown, subject: string, listed = ONE_QUEUE): asserts name is string {
  const problem = problemOf(name, listed);
  if (problem !== undefined) throw invalidQueueName(name, subject, problem);
}

function problemOf(name: unknown, listed: string): string | undefined {
  if (typeof name !== 'string' || name === '') return 'give a text of at least one character';
  if (name.includes(',')) return listed;
  if (/\s/.test(name)) return 'leave out the white space';
  // One store would refuse it, another one keep it under another name.
  if (/\p{Cc}/u.test(name) || !name.isWellFormed()) return 'leave out control characters and halves of characters';
  if (/[{}]/.test(name))
    return 'leave out { and }: they choose the slot in a Redis cluster, and Onqueue sets them itself';
  if (name.startsWith(':')) return "let it begin with something else: ':' is what Onqueue's own keys begin with";
  const reserved = RESERVED.exec(name);
  return reserved === null ? undefined : `'${reserved[0]}' is what Onqueue's own keys are called; choose another name`;
}
