/** Reads the text format of Prometheus 0.0.4, and refuses whatever a scraper might refuse. */

export interface ParsedMetric {
  readonly type: string;
  /** By name and labels as in the text. */
  readonly samples: Map<
    string,
    { readonly name: string; readonly labels: Record<string, string>; readonly value: number }
  >;
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/;
const SAMPLE = new RegExp(`^(${NAME})(?:\\{([^\\n]*)\\})? (\\+Inf|NaN|-?[0-9.]+(?:e[+-]?[0-9]+)?)$`);

export function parsePrometheus(text: string): Map<string, ParsedMetric> {
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line has no end');
  const metrics = new Map<string, ParsedMetric>();
  let helped: string | undefined;
  let current: { readonly name: string; readonly metric: ParsedMetric } | undefined;
  for (const line of text.split('\n').slice(0, -1)) {
    const help = new RegExp(`^# HELP (${NAME}) [^\\n]+$`).exec(line);
    const type = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram)$`).exec(line);
    if (help !== null) helped = help[1];
    else if (type !== null) {
      const [, name = '', kind = ''] = type;
      if (name !== helped) throw new Error(`no help stands before ${line}`);
      if (metrics.has(name)) throw new Error(`${name} comes twice`);
      current = { name, metric: { type: kind, samples: new Map() } };
      metrics.set(name, current.metric);
    } else readSample(line, current);
  }
  for (const [name, metric] of metrics) if (metric.type === 'histogram') checkHistogram(name, metric);
  return metrics;
}

function readSample(line: string, current: { readonly name: string; readonly metric: ParsedMetric } | undefined): void {
  const [, name, labels, value] = SAMPLE.exec(line) ?? [];
  if (name === undefined || current === undefined) throw new Error(`not a sample: ${line}`);
  const suffixes = current.metric.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
  if (!suffixes.some((suffix) => name === current.name + suffix))
    throw new Error(`${name} stands below ${current.name}`);
  const key = `${name}{${labels ?? ''}}`;
  if (current.metric.samples.has(key)) throw new Error(`twice: ${key}`);
  const number = value === '+Inf' ? Infinity : Number(value);
  if (Number.isNaN(number) || number < 0) throw new Error(`no count: ${line}`);
  current.metric.samples.set(key, { name, labels: readLabels(labels ?? ''), value: number });
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (let rest = text; rest !== '';) {
    const [whole, label, value] = LABEL.exec(rest) ?? [];
    if (whole === undefined) throw new Error(`not labels: ${text}`);
    if (Object.hasOwn(labels, label!)) throw new Error(`a label twice: ${text}`);
    labels[label!] = value!.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
    rest = rest.slice(whole.length);
  }
  return labels;
}

function checkHistogram(name: string, { samples }: ParsedMetric): void {
  const series = new Map<string, { buckets: [number, number][]; sum?: number; count?: number }>();
  for (const { name: full, labels, value } of samples.values()) {
    const { le, ...others } = labels;
    const key = JSON.stringify(others);
    const one = series.get(key) ?? { buckets: [] };
    series.set(key, one);
    if (full === `${name}_bucket`) one.buckets.push([le === '+Inf' ? Infinity : Number(le), value]);
    if (full === `${name}_sum`) one.sum = value;
    if (full === `${name}_count`) one.count = value;
  }
  for (const [key, { buckets, sum, count }] of series) {
    const isGrowing = buckets.every(([le, value], place) => {
      const [before, least] = buckets[place - 1] ?? [-Infinity, 0];
      return le > before && value >= least;
    });
    const last = buckets.at(-1);
    if (!isGrowing || last?.[0] !== Infinity) throw new Error(`the buckets of ${name} ${key} do not grow to +Inf`);
    if (sum === undefined || count !== last[1])
      throw new Error(`sum and count of ${name} ${key} do not fit its buckets`);
  }
}
