/** A job as the function that pushes takes it. */
import { InvalidPayloadError } from '../../../payload/errors';
import type { QueuedJob } from '../server/dialect';

/** @throws InvalidPayloadError it cannot be kept as a text */
export function pushedJob({ queue, payload, uuid, delay, due, unique, counters }: QueuedJob, n: number): object {
  const text = String(payload);
  if (text.includes('\0') || (typeof payload !== 'string' && !Buffer.from(text).equals(payload))) {
    throw new InvalidPayloadError(
      'it is no text that PostgreSQL can keep: it holds the character NUL, or is not UTF-8',
    );
  }
  // What has no id in the table of another program must not be found by one that holds such a character either.
  return { n, queue, payload: text, uuid: uuid.replaceAll('\0', '\uFFFD'), delay, due, unique, ...counters };
}
