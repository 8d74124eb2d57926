/** Writes metrics in the text format of Prometheus, version 0.0.4. */

export interface MetricSample {
  /** Follows the name of the metric: `_bucket`, `_sum` or `_count` of a histogram. */
  readonly suffix?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly MetricSample[];
}

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function prometheusText(metrics: readonly Metric[]): string {
  const lines = metrics
    .filter(({ samples }) => samples.length > 0)
    .flatMap(({ name, help, type, samples }) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(({ suffix = '', labels, value }) => `${name}${suffix}${labelsText(labels)} ${numberText(value)}`),
    ]);
  return lines.map((line) => `${line}\n`).join('');
}

function labelsText(labels: MetricSample['labels']): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

// Names of queues come from whoever sends jobs.
function escaped(value: string): string {
  return value.toWellFormed().replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

export const numberText = (value: number): string => (value === Infinity ? '+Inf' : String(value));
