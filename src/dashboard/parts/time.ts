/** Moments and spans for people. */
import type { Milliseconds, Seconds } from '../../base/clock';
import { html, type Html } from '../html';

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** `3 min ago`, `in 2 h`, with the exact moment as its title, which the script shows in the viewer's time zone. */
export function moment(at: Date, now: Milliseconds): Html {
  const iso = at.toISOString();
  const span = at.getTime() - now;
  const text = Math.abs(span) < 1000 ? 'now' : span < 0 ? `${spanText(-span)} ago` : `in ${spanText(span)}`;
  return html`<time datetime="${iso}" title="${iso.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')}">${text}</time>`;
}

/** `850 ms`, `3.2 s`, `3 min`: in the largest unit that fits. */
export function spanText(span: Milliseconds): string {
  if (span < 1000) return `${Math.round(span)} ms`;
  if (span < 10_000) return `${Math.round(span / 100) / 10} s`;
  const [unit, length] = UNITS.find(([, each]) => span >= each)!;
  return `${Math.floor(span / length)} ${unit}`;
}

export function secondsText(span: Seconds | undefined): string {
  return span === undefined ? '' : spanText(span * 1000);
}
