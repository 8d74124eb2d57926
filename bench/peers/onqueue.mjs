/** Onqueue as the README shows it: a job class, an injected dependency, hooks before and after each job. */
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';

const { builtInConnectors, Inject, Job, Queue, QueueManager, silentLogger, Worker } = createRequire(import.meta.url)(
  '../../dist/index.js',
);

/** How often a worker without hooks is asked how far it is. */
const LOOK_MS = 5;

let started = () => {};
/** Milliseconds that a mail takes. */
let held = 0;

class Mailer {
  async send() {
    if (held > 0) await pause(held);
  }
}

class Mail extends Job {
  constructor(number, to, subject) {
    super();
    this.number = number;
    this.to = to;
    this.subject = subject;
  }
}

class SendMail extends Mail {
  async handle(mailer) {
    started(this.number);
    await mailer.send(this);
  }
}

/** What its decorator says does not travel with the job. */
class SendMailAgain extends SendMail {}

class SendPlainMail extends Mail {
  async handle() {
    started(this.number);
  }
}

// Decorators, written out as a compiler does.
Inject(Mailer)(SendMail.prototype, 'handle', 0);
Job({ queue: 'mails' })(SendMail);
Job({ queue: 'mails', tries: 5, backoff: [1, 2, 4, 8] })(SendMailAgain);
Job({ queue: 'mails' })(SendPlainMail);

export async function prepare(
  address,
  { hooks = true, injection = true, retries = false, hold = 0, lease, logs = false } = {},
) {
  held = hold;
  const configuration = {
    connections: { store: { ...connectionTo(address), retryAfter: lease } },
    maxPayload: '2mb',
    ...(!logs && { logger: silentLogger }),
  };
  await migrate(configuration);
  Queue.configure(configuration);
  // Connects, which happens on first use.
  await Queue.size('mails');
  const withInjection = retries ? SendMailAgain : SendMail;
  const Class = injection ? withInjection : SendPlainMail;
  const names = new Set(['mails']);
  return {
    dispatchOne: ({ number, to, subject }) => Class.dispatch(number, to, subject),

    dispatchMany: (mails) => Promise.all(mails.map(({ number, to, subject }) => Class.dispatch(number, to, subject))),

    bulk(mails, { due, queue } = {}) {
      if (queue !== undefined) names.add(queue);
      const jobs = mails.map(({ number, to, subject }) => new Class(number, to, subject));
      if (due !== undefined) for (const job of jobs) job.delay(due);
      return Queue.bulk(jobs, queue);
    },

    async work(concurrency, watcher, { queues = ['mails'] } = {}) {
      started = (number) => watcher.start(number);
      const worker = new Worker({ queue: queues, concurrency });
      const unwatch = hooks ? throughHooks(watcher) : byLooking(worker, watcher);
      const ended = worker.run();
      ended.catch((error) => watcher.fail(error));
      return async () => {
        await worker.stop();
        await ended;
        unwatch();
      };
    },

    async size() {
      const sizes = await Promise.all([...names].map((name) => Queue.size(name)));
      return sizes.reduce((sum, size) => sum + size, 0);
    },

    close: () => Queue.close(),
  };
}

const connectionTo = (address) =>
  address.url === undefined ? { driver: 'redis', ...address } : { driver: 'database', url: address.url };

/** What `onqueue migrate` does. */
async function migrate(configuration) {
  const manager = new QueueManager({ connectors: builtInConnectors }, configuration);
  await manager.driver('store').migrations?.run();
  await manager.close();
}

function throughHooks(watcher) {
  const offs = [
    Queue.before(() => {}),
    Queue.after(() => watcher.settle()),
    Queue.failing(({ exception }) => watcher.fail(exception)),
  ];
  return () => {
    for (const off of offs) off();
  };
}

function byLooking(worker, watcher) {
  let told = 0;
  const timer = setInterval(() => {
    const { completed, failed } = worker.health().outcomes;
    if (failed > 0) watcher.fail(new Error(`${failed} jobs failed`));
    for (; told < completed; told += 1) watcher.settle();
  }, LOOK_MS);
  return () => clearInterval(timer);
}
