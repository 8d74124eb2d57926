/** How moments are shown to people. */
import type { Milliseconds } from '../base/clock';

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

export function momentText(moment: Date): string {
  return moment
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
}

/** `3m`: the span in the largest unit that fits, rounded down. */
export function spanText(span: Milliseconds): string {
  const [unit, length] = UNITS.find(([, each]) => span >= each) ?? ['s', 1000];
  return `${Math.floor(span / length)}${unit}`;
}

/** `90s`, `2h`: the whole span, in the largest unit that divides it. */
export function exactSpanText(span: Milliseconds): string {
  const [unit, length] = UNITS.find(([, each]) => span >= each && span % each === 0) ?? ['s', 1000];
  return `${span / length}${unit}`;
}

/** `3m ago`. A store's clock may be ahead of ours; then it was just now. */
export function agoText(moment: Date, now: Milliseconds): string {
  return `${spanText(Math.max(now - moment.getTime(), 0))} ago`;
}
