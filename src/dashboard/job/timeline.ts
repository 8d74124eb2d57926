/** A picture of what happened to a job: its runs as bars, coloured by outcome, with lines between them for the waits. */
import { html, type Html, type Shown } from '../html';
import { counted } from '../parts/number';
import { spanText } from '../parts/time';
import { type JobEvent, OUTCOMES } from './events';

/** Bars and lines: if there are more, only the last ones are drawn. */
const MOST = 25;
/** Longer times are drawn on a logarithmic scale: otherwise a day would leave no room for anything else. */
const UNIT = 250;
/** How the shortest run and the shortest wait are drawn, relative to each other. */
const LEAST = { run: 2.5, wait: 1 } as const;

const HEIGHT = 54;
/** A narrower part of the picture has no room for a text below it. */
const NARROW = 0.13;
const BAR = { top: 18, height: 18 } as const;
const LINE = { top: 26, height: 2 } as const;
const LABELS = { above: 12, below: 50 } as const;

export function timeline(events: readonly JobEvent[]): Html {
  const shown = events.slice(-MOST);
  const lengths = shown.map(lengthOf);
  const whole = lengths.reduce((sum, length) => sum + length, 0);
  let start = 0;
  const shapes = shown.map((event, place) => {
    const from = start / whole;
    start += lengths[place]!;
    return shape(event, from, start / whole);
  });
  return html`<svg class="timeline" role="img" width="100%" height="${HEIGHT}" aria-label="${summaryOf(events)}">
    ${shapes}
  </svg>`;
}

function lengthOf({ kind, from, until }: JobEvent): number {
  const least = kind === 'waits' ? LEAST.wait : LEAST.run;
  return least + Math.log2(1 + (until - from) / UNIT) / 2;
}

/** @param from, until shares of the whole */
function shape(event: JobEvent, from: number, until: number): Html {
  const { kind, attempt, isAhead } = event;
  const tip = html`<title>${tipOf(event)}</title>`;
  const [x, width, middle] = [from, until - from, (from + until) / 2].map(percent);
  const label = (y: number, text: Shown): Html =>
    html`<text x="${middle}" y="${y}" text-anchor="middle">${text}</text>`;
  const ms = kind === 'waits' ? event.until - event.from : event.ms;
  const took = ms !== undefined && until - from >= NARROW && label(LABELS.below, spanText(ms));
  if (kind === 'waits')
    return html`<rect class="${isAhead === true ? 'ahead' : 'waits'}" x="${x}" y="${LINE.top}" width="${width}" height="${LINE.height}">${tip}</rect>${took}`;
  return html`<rect class="${kind}" x="${x}" y="${BAR.top}" width="${width}" height="${BAR.height}" rx="3">${tip}</rect>${attempt !== undefined && label(LABELS.above, attempt)}${took}`;
}

const percent = (share: number): string => `${Math.round(share * 10_000) / 100}%`;

function tipOf({ kind, attempt, from, until, ms, isAhead }: JobEvent): string {
  if (kind === 'waits') return `${isAhead === true ? 'Waits another' : 'Waited'} ${spanText(until - from)}`;
  const took = ms === undefined ? '' : kind === 'running' ? ` for ${spanText(ms)}` : ` after ${spanText(ms)}`;
  return `Attempt ${attempt ?? '?'}: ${OUTCOMES[kind].text}${took}`;
}

function summaryOf(events: readonly JobEvent[]): string {
  const runs = events.filter(({ kind }) => kind !== 'waits');
  return `${counted(runs.length, 'run')}: ${runs.slice(-MOST).map(tipOf).join('; ')}. The table below says the same.`;
}
