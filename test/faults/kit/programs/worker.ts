/** A worker in a process of its own that tests can kill. Its argument has its configuration as JSON. */
import { inspect } from 'node:util';
import { builtInConnectors, Queue, Worker } from 'onqueue';
import type { Configuration, Connection, Connector, Duration, OverlapPolicy, WorkerOptions } from 'onqueue';
import { Recur } from './jobs';
import { note, openLedger } from './pen';

interface Orders {
  readonly configuration: Configuration;
  readonly options: WorkerOptions;
  readonly internal: { readonly endsProcess?: boolean };
  readonly ledger: string;
  readonly events?: readonly string[];
  /** Milliseconds by which its clock is ahead. */
  readonly skew?: number;
  readonly schedules?: readonly { readonly name: string; readonly every: Duration; readonly overlap: OverlapPolicy }[];
  /** Whether it freezes as soon as a reserve has brought it a job. */
  readonly freezes?: boolean;
  /** Kills or freezes it at its first settle, or at this push of a page of a batch, from 1. */
  readonly halts?: { readonly by: 'SIGKILL' | 'SIGSTOP'; readonly when: 'before' | 'after'; readonly page?: number };
}

const {
  configuration,
  options,
  internal,
  ledger,
  events,
  freezes,
  halts,
  skew,
  schedules = [],
} = JSON.parse(process.argv[2]!) as Orders;

const log = (facts: object, message: string): void =>
  note('logged', {}, JSON.stringify(`${message} ${inspect(facts, { depth: 9 })}`));

/** Logged outcomes are confirmed by the store. Other warnings help to investigate a failed test. */
const hear = (facts: object, message: string): void => {
  log(facts, message);
  const { outcome, id } = facts as { readonly outcome?: string; readonly id?: string };
  if (outcome === undefined || id === undefined) note('said', {}, JSON.stringify(message));
  else if (outcome === 'released' || outcome === 'failed') note(outcome, { id });
};

function measure(): void {
  const { rss } = process.memoryUsage();
  const { outcomes } = worker.health();
  note('measured', {}, JSON.stringify({ rss, open: process.getActiveResourcesInfo(), outcomes }));
}

function freezing<Config>(connect: Connector<Config>): Connector<Config> {
  return (config, context): Connection => {
    const store = connect(config, context);
    const exchange = store.exchange.bind(store);
    store.exchange = async (settlements, wanted) => {
      const settled = await exchange(settlements, wanted);
      if (settled.reply.reservations.length > 0) {
        store.exchange = exchange;
        process.kill(process.pid, 'SIGSTOP');
      }
      return settled;
    };
    return store;
  };
}

function halting<Config>(
  connect: Connector<Config>,
  { by, when, page }: NonNullable<Orders['halts']>,
): Connector<Config> {
  return (config, context): Connection => {
    const store = connect(config, context);
    if (page !== undefined) {
      const { keys } = store;
      const pushOnce = keys!.pushOnce.bind(keys);
      let pushes = 0;
      const haltAt = (moment: 'before' | 'after'): void => {
        if (moment === when && pushes === page) process.kill(process.pid, by);
      };
      const halting: typeof pushOnce = async (...given) => {
        pushes += 1;
        haltAt('before');
        const answer = await pushOnce(...given);
        haltAt('after');
        return answer;
      };
      Object.assign(keys!, { pushOnce: halting });
      return store;
    }
    const { exchange } = store;
    store.exchange = async (settlements, wanted) => {
      if (settlements.length === 0) return exchange.call(store, settlements, wanted);
      Object.assign(store, { exchange });
      if (when === 'before') process.kill(process.pid, by);
      const settled = await exchange.call(store, settlements, wanted);
      if (when === 'after') process.kill(process.pid, by);
      return settled;
    };
    return store;
  };
}

if (skew !== undefined) {
  const right = Date.now;
  Date.now = () => right() + skew;
}
openLedger(ledger, events);
for (const { name, every, overlap } of schedules)
  Queue.schedule(() => new Recur())
    .every(every)
    .name(name)
    .overlap(overlap)
    .missed(overlap === 'allow' ? 'all' : 'latest');
if (halts !== undefined) {
  Queue.addConnector('redis', halting(builtInConnectors.redis!, halts));
  Queue.addConnector('database', halting(builtInConnectors.database!, halts));
}
if (freezes === true) {
  Queue.addConnector('redis', freezing(builtInConnectors.redis!));
  Queue.addConnector('database', freezing(builtInConnectors.database!));
}
Queue.configure({ ...configuration, logger: { debug: log, info: hear, warn: hear, error: hear } });
// A process may hold the same job twice, one after the other, so these identify the run.
Queue.after(({ job }) => note('completed', job));
Queue.lost(({ job }) => note('lost', job));
Queue.cancelled(({ job }) => note('cancelled', job));
/** Makes the worker like the command. */
const ProcessWorker: new (options: WorkerOptions, manager: undefined, internal: Orders['internal']) => Worker = Worker;
const worker = new ProcessWorker(options, undefined, internal);
process.on('SIGUSR2', measure);
process.once('SIGTERM', () => void Queue.close());
void worker.run().then((reason) => {
  measure();
  note('ended', {}, JSON.stringify(reason));
  return Queue.close();
});
console.log('ready');
