/** How many jobs ended in each span, and with which outcome. */
import type { RunSpan } from '../../operations/figures/figures';
import { numberText } from '../parts/number';
import type { Chart } from './chart';

/** @param all the spans of several queues, which are added up */
export function rateChart(id: string, all: readonly (readonly RunSpan[] | undefined)[]): Chart {
  const byMoment = new Map<number, { completed: number; failed: number }>();
  for (const { at, completed, failed } of all.flatMap((spans) => spans ?? [])) {
    const sum = byMoment.get(at.getTime()) ?? { completed: 0, failed: 0 };
    byMoment.set(at.getTime(), { completed: sum.completed + completed, failed: sum.failed + failed });
  }
  const moments = [...byMoment].toSorted(([a], [b]) => a - b);
  // Spans are longer the further one looks back.
  const minutes = moments.length < 2 ? 1 : (moments[1]![0] - moments[0]![0]) / 60_000;
  return {
    id,
    title: 'Jobs a minute',
    kind: 'bars',
    at: moments.map(([at]) => new Date(at)),
    series: [
      { label: 'completed', tone: 'accent', values: moments.map(([, { completed }]) => completed / minutes) },
      { label: 'failed', tone: 'bad', values: moments.map(([, { failed }]) => failed / minutes) },
    ],
    text: numberText,
  };
}
