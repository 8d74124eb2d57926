/**
 * What is made of a run: the figures that a kind of scenario shows, and how. Each has
 *
 * - `columns`: `key`, `heading`, and `spread` and `ratio` where the lowest and highest, and × the baseline, are shown too;
 * - `of({ jobs, own, store })`: the figures of one run, from what `act` gave and what the store says it has done.
 */
const perSecond = (count, milliseconds) => (count / milliseconds) * 1_000;
const MEGABYTE = 1024 * 1024;

const rate = { key: 'rate', heading: 'jobs/s', spread: true, ratio: true };
const storeCpu = { key: 'storeCpu', heading: 'server CPU, µs/job', ratio: true };
const ownCpu = { key: 'ownCpu', heading: 'own CPU, µs/job' };

const costs = ({ jobs, own, store }) => ({ storeCpu: store.cpu / jobs, ownCpu: own.cpu / jobs });

export const throughput = {
  columns: [rate, storeCpu, ownCpu],
  of: (run) => ({ rate: perSecond(run.jobs, run.own.milliseconds), ...costs(run) }),
};

/** Where there is no server. */
export const alone = {
  columns: [rate, { ...ownCpu, ratio: true }],
  of: ({ jobs, own }) => ({ rate: perSecond(jobs, own.milliseconds), ownCpu: own.cpu / jobs }),
};

/** Of jobs that are first dispatched, and then processed. */
export const passage = {
  columns: [
    { key: 'dispatched', heading: 'dispatched/s', ratio: true },
    { key: 'processed', heading: 'processed/s', ratio: true },
    storeCpu,
    ownCpu,
  ],
  of: (run) => ({
    dispatched: perSecond(run.jobs, run.own.dispatching),
    processed: perSecond(run.jobs, run.own.processing),
    ...costs(run),
  }),
};

/** Of jobs that scripts move in great number. */
export const scripts = {
  columns: [
    rate,
    storeCpu,
    { key: 'slowest', heading: 'slowest script call, ms' },
    { key: 'slow', heading: 'calls over 5 ms' },
    ownCpu,
  ],
  of: (run) => ({
    ...throughput.of(run),
    // The slow log has only what took longer than half a millisecond.
    slowest: Math.max(0, ...run.store.slowCalls) / 1_000,
    slow: run.store.slowCalls.filter((microseconds) => microseconds > 5_000).length,
  }),
};

export const latency = {
  columns: [
    { key: 'median', heading: 'p50, ms', spread: true, ratio: true },
    { key: 'late', heading: 'p99, ms', spread: true, ratio: true },
    { key: 'latest', heading: 'longest, ms' },
  ],
  of({ own }) {
    const sorted = own.latencies.toSorted((one, other) => one - other);
    const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
    return { median: at(0.5), late: at(0.99), latest: sorted.at(-1) };
  },
};

export const bytes = {
  columns: [{ key: 'bytes', heading: 'bytes/job', spread: true, ratio: true }],
  of: ({ jobs, store }) => ({ bytes: store.memory / jobs }),
};

export const idleness = {
  columns: [
    { key: 'requests', heading: 'requests/s' },
    { key: 'storeCpu', heading: 'server CPU, ms/s' },
    { key: 'ownCpu', heading: 'own CPU, ms/s' },
    { key: 'resident', heading: 'resident, MB' },
  ],
  of({ own, store }) {
    const seconds = own.milliseconds / 1_000;
    return {
      // One is the bench's own, which asks for this.
      requests: (store.requests - 1) / seconds,
      storeCpu: store.cpu / 1_000 / seconds,
      ownCpu: own.cpu / 1_000 / seconds,
      resident: own.resident / MEGABYTE,
    };
  },
};

export const company = {
  columns: [
    { key: 'resident', heading: 'resident, MB' },
    { key: 'threads', heading: 'threads' },
    { key: 'connections', heading: 'connections' },
  ],
  of: ({ own }) => ({ resident: own.resident / MEGABYTE, threads: own.threads, connections: own.connections }),
};

export const memory = {
  columns: [
    { key: 'resident', heading: 'resident, MB', ratio: true },
    { key: 'peak', heading: 'at most, MB' },
    { key: 'heap', heading: 'heap in use, MB' },
  ],
  of: ({ own }) => ({
    resident: own.resident / MEGABYTE,
    peak: own.peak / MEGABYTE,
    heap: own.heap / MEGABYTE,
  }),
};

export const loading = {
  columns: [
    { key: 'milliseconds', heading: 'require, ms', spread: true, ratio: true },
    { key: 'cpu', heading: 'CPU, ms', ratio: true },
    { key: 'modules', heading: 'modules' },
    { key: 'drivers', heading: 'drivers of stores among them' },
    { key: 'resident', heading: 'resident, MB more' },
  ],
  of: ({ own }) => ({ ...own.start, resident: own.start.resident / MEGABYTE }),
};
