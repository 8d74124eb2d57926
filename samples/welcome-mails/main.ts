/**
 * Sends a welcome mail to each subscriber in a CSV file, and a follow-up to everyone who got it.
 *
 * `npm start` keeps the jobs in a SQLite file, `REDIS_URL=redis://127.0.0.1:6379 npm start` in Redis. Some addresses are
 * refused temporarily, so their jobs are retried. One is refused for good: its job fails, and an alert is written.
 * The sample leaves no jobs behind, neither queued nor failed.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Queue, silentLogger, type StopReason, Worker } from 'onqueue';
import { container } from 'tsyringe';
import { Alerts } from './alerts';
import { QUEUE, SendWelcome } from './jobs';
import { MailServer } from './mail-server';
import { Mailer } from './mailer';
import { Progress } from './progress';
import { printTable } from './table';

interface Subscriber {
  readonly name: string;
  readonly email: string;
}

interface Result {
  readonly reason: StopReason;
  /** The number of jobs that threw at least once. */
  readonly retried: number;
  readonly failed: number;
  /** The number of jobs left in the queue. */
  readonly left: number;
}

function readSubscribers(): Subscriber[] {
  const [, ...rows] = readFileSync(join(__dirname, 'subscribers.csv'), 'utf8').trim().split('\n');
  return rows.map((row) => {
    const [name = '', email = ''] = row.split(',');
    return { name, email };
  });
}

/** Queues a job for each subscriber and works until the queue is empty. */
async function welcome(subscribers: readonly Subscriber[]): Promise<Result> {
  const progress = new Progress(2 * subscribers.length);
  const retried = new Set<string>();
  Queue.after(() => progress.advance(1));
  Queue.exceptionOccurred(({ job }) => retried.add(job.id));
  // A subscriber whose welcome mail failed gets no follow-up either.
  Queue.failing(() => progress.advance(2));

  await Queue.bulk(subscribers.map(({ name, email }) => new SendWelcome(name, email)));
  console.log(`${subscribers.length} welcome mails are queued.`);

  const worker = new Worker({ queue: QUEUE, concurrency: 10, drain: true });
  process.once('SIGINT', () => void worker.stop());
  const reason = await worker.run();
  progress.close();

  const failed = await Queue.failed.list({ queue: QUEUE });
  for (const { id } of failed) await Queue.failed.forget(id);
  return { reason, retried: retried.size, failed: failed.length, left: await Queue.size(QUEUE) };
}

async function main(): Promise<void> {
  const started = Date.now();
  // No connections are configured: SQLite, or Redis if REDIS_URL is set. The table below replaces the log.
  Queue.configure({ logger: silentLogger });
  console.log(`Jobs are kept in ${Queue.connection().address}, in the queue "${QUEUE}".`);
  const cleared = await Queue.clear(QUEUE);
  if (cleared > 0) console.log(`Removed ${cleared} jobs left by an interrupted run.`);

  const server = new MailServer();
  const mailer = new Mailer(await server.start());
  const alerts = new Alerts();
  container.registerInstance(Mailer, mailer);
  container.registerInstance(Alerts, alerts);
  const subscribers = readSubscribers();
  try {
    const { reason, retried, failed, left } = await welcome(subscribers);
    const recipients = new Set(server.taken);
    printTable([
      ['subscribers', subscribers.length],
      ['got the welcome mail', recipients.size],
      ['… and the follow-up', server.taken.length - recipients.size],
      ['refused for the time being', server.temporaryRefusals],
      ['jobs that were tried again', retried],
      ['refused for good', failed],
      ['jobs left in the queue', left],
      ['seconds', ((Date.now() - started) / 1000).toFixed(1)],
    ]);
    for (const alert of alerts.written) console.log(`Alert: ${alert}`);
    if (reason === 'stopped') console.log('Stopped before the end. The next run starts over.');
  } finally {
    await Queue.close();
    mailer.close();
    await server.stop();
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
