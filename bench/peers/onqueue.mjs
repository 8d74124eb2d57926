/** Onqueue as the README shows it: a job class, an injected dependency, hooks before and after each job. */
import { createRequire } from 'node:module';
import { Tally } from '../tally.mjs';

const { Inject, Job, Queue, silentLogger, Worker } = createRequire(import.meta.url)('../../dist/index.js');

class Mailer {
  async send() {}
}

class SendMail extends Job {
  constructor(number, to, subject) {
    super();
    this.number = number;
    this.to = to;
    this.subject = subject;
  }

  async handle(mailer) {
    await mailer.send(this);
  }
}
// Decorators, written out as a compiler does.
Inject(Mailer)(SendMail.prototype, 'handle', 0);
Job({ queue: 'mails' })(SendMail);

export async function prepare({ host, port }) {
  Queue.configure({ connections: { redis: { driver: 'redis', host, port } }, logger: silentLogger });
  // Connects, which happens on first use.
  await Queue.size('mails');
  return {
    dispatchOne: ({ number, to, subject }) => SendMail.dispatch(number, to, subject),

    dispatchMany: (mails) =>
      Promise.all(mails.map(({ number, to, subject }) => SendMail.dispatch(number, to, subject))),

    bulk: (mails) => Queue.bulk(mails.map(({ number, to, subject }) => new SendMail(number, to, subject))),

    async process(concurrency, count) {
      const tally = new Tally(count);
      Queue.before(() => tally.start());
      Queue.after(() => tally.settle());
      Queue.failing(({ exception }) => tally.fail(exception));
      const worker = new Worker({ queue: 'mails', concurrency });
      const ended = worker.run();
      ended.catch((error) => tally.fail(error));
      const elapsed = await tally.elapsed;
      await worker.stop();
      await ended;
      return elapsed;
    },

    size: () => Queue.size('mails'),

    close: () => Queue.close(),
  };
}
