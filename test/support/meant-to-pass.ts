/**
 * Marks a short deadline, lease or timeout that passes in the test, in real time. Any other one gets a minute or more: on a busy
 * machine, seconds pass before an answer that is sure to come. `npm run check -- repository` asks for the mark.
 *
 * First see whether the test can pass it by a clock (`TestClock`, `MovedClock`). If not, nothing that the test expects to succeed
 * may depend on the length.
 */
import type { Duration } from '../../src/job/duration';

export function meantToPass<Text extends Duration & string>(length: Text): Text;
export function meantToPass(length: number): number;
export function meantToPass(length: Duration): Duration {
  return length;
}
