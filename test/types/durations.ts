/** What the compiler accepts as a duration. It accepts '-5s', which is refused at run time. */
import { duration, type Delay, type Duration } from '../../src/job/duration';

export const durations: Duration[] = [
  30,
  0.5,
  '500ms',
  '30s',
  '10m',
  '2h',
  '1d',
  '1.5h',
  duration(process.env['T'] ?? '10s'),
];
export const delays: Delay[] = [30, '10m', new Date()];

// @ts-expect-error -- a word as unit
export const word: Duration = '2 minutes';
// @ts-expect-error -- no unit
export const unit: Duration = '30';
// @ts-expect-error -- no such unit
export const weeks: Duration = '2w';
// @ts-expect-error -- a moment is not a duration
export const moment: Duration = new Date();
// @ts-expect-error -- a plain string needs duration()
export const plain: Duration = process.env['T'] ?? '10s';
