/** Figures for people: medians over the rounds, ratios, and what they were measured on. */
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';

const PEERS = ['bullmq', 'bee-queue', 'ioredis', 'graphile-worker', 'pg-boss', 'pg'];

export function describeMachine() {
  const version = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version;
  return {
    date: new Date().toISOString().slice(0, 10),
    cpu: cpus()[0].model.trim(),
    cores: availableParallelism(),
    /** Processes that wanted to run in the minute before: above 0, others were working. */
    loadBefore: loadavg()[0],
    versions: {
      node: process.versions.node,
      onqueue: version('../package.json'),
      ...Object.fromEntries(PEERS.map((name) => [name, version(`node_modules/${name}/package.json`)])),
    },
  };
}

/** A table for each kind of figures that follow each other. */
export function asTables({ date, cpu, cores, loadBefore, versions }, scenarios, results) {
  const software = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const lines = [`${date}; ${cores} cores of ${cpu}, load before ${loadBefore.toFixed(1)}; ${software.join(', ')}`];
  for (const [place, result] of results.entries()) {
    const scenario = scenarios[place];
    if (scenario.figures !== scenarios[place - 1]?.figures) lines.push('', ...header(scenario));
    lines.push(...rows(scenario, result));
  }
  return lines.join('\n');
}

function header({ figures }) {
  const headings = figures.columns.flatMap(({ heading, spread, ratio }) => [
    heading,
    ...(spread ? ['lowest – highest'] : []),
    ...(ratio ? ['×'] : []),
  ]);
  return [`| | | ${headings.join(' | ')} |`, `|---|---|${'--:|'.repeat(headings.length)}`];
}

function rows({ figures, participants, baseline }, { title, rounds, runs }) {
  return participants.map(({ name }, place) => {
    const cells = figures.columns.flatMap(({ key, spread, ratio }) => {
      const values = runs[name].map((run) => run[key]);
      return [
        short(median(values)),
        ...(spread ? [`${short(Math.min(...values))} – ${short(Math.max(...values))}`] : []),
        ...(ratio ? [ratioOf(runs[name], runs[baseline], key)] : []),
      ];
    });
    return `| ${[place === 0 ? `${title} (${rounds})` : '', name, ...cells].join(' | ')} |`;
  });
}

/** The median of each round's ratio: a slow round was slow for both. */
function ratioOf(runs, base, key) {
  return median(runs.map((run, round) => run[key] / base[round][key])).toFixed(2);
}

function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Figures that say something: `12,345`, `12`, `1.2`, `0.12`. */
function short(value) {
  if (value === 0 || value >= 10) return Math.round(value).toLocaleString('en');
  return value.toFixed(value < 1 ? 2 : 1);
}
