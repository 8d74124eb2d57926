/** Figures for people: medians over the rounds, ratios, and what they were measured on. */
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { baseline, peers } from './peers/all.mjs';

export async function describeMachine(server) {
  const version = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version;
  return {
    date: new Date().toISOString().slice(0, 10),
    cpu: cpus()[0].model.trim(),
    cores: availableParallelism(),
    /** Processes that wanted to run in the minute before: above 0, others were working. */
    loadBefore: loadavg()[0],
    versions: {
      node: process.versions.node,
      redis: await server.version(),
      onqueue: version('../package.json'),
      bullmq: version('node_modules/bullmq/package.json'),
      'bee-queue': version('node_modules/bee-queue/package.json'),
      ioredis: version('node_modules/ioredis/package.json'),
    },
  };
}

const HEADER = [
  '| | | jobs/s | lowest – highest | × BullMQ | Redis CPU, µs/job | × BullMQ | own CPU, µs/job |',
  '|---|---|--:|--:|--:|--:|--:|--:|',
];

export function asTable({ date, cpu, cores, loadBefore, versions }, rounds, results) {
  const software = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `${date}; ${cores} cores of ${cpu}, load before ${loadBefore.toFixed(1)}; ${software.join(', ')}; ${rounds} rounds`,
    '',
    ...HEADER,
    ...results.flatMap(({ title, runs }) => peers.map((peer, place) => row(place === 0 ? title : '', peer, runs))),
  ].join('\n');
}

function row(title, peer, runs) {
  const rates = runs[peer].map(({ rate }) => rate);
  const cells = [
    title,
    peer,
    thousands(median(rates)),
    `${thousands(Math.min(...rates))} – ${thousands(Math.max(...rates))}`,
    ratio(peer, runs, 'rate'),
    short(median(runs[peer].map(({ redisCpu }) => redisCpu))),
    ratio(peer, runs, 'redisCpu'),
    short(median(runs[peer].map(({ ownCpu }) => ownCpu))),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** The median of each round's ratio: a slow round was slow for both. */
function ratio(peer, runs, figure) {
  return median(runs[peer].map((run, round) => run[figure] / runs[baseline][round][figure])).toFixed(2);
}

function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const thousands = (value) => Math.round(value).toLocaleString('en');
const short = (value) => value.toFixed(value < 10 ? 1 : 0);
