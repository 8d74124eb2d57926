/** The scene for tests of jobs that a Laravel application shares: such a job, and both sides of its queue. */
import { Job } from 'onqueue';
import { LaravelJob } from 'onqueue/laravel';
import { phpText, PhpArray, PhpObject, readPhpText, type PhpValue } from '../../src/laravel/php-text';
import { Executor } from '../../src/worker/run';
import type { Outcome } from '../../src/worker/outcome';
import type { RunningJob } from '../../src/worker/running-job';
import { testApplication, type TestApplication } from '../support/application';
import { reserved } from '../support/reservation';
import { reserveFrom } from '../support/exchange';

export const NAME = 'App\\Jobs\\SendInvoice';

/** The properties of the jobs that ran, and the errors of those that failed. */
export let runs: unknown[];

/** What `handle()` does. */
export const act = { behave: (): void => undefined };

@LaravelJob(NAME, {
  queue: 'invoices',
  tries: 3,
  timeout: 120,
  backoff: [1, 5],
  protected: ['to'],
  private: ['lines'],
  floats: ['amount'],
  enums: { plan: 'App\\Enums\\Plan' },
  dates: { due: 'DateTimeImmutable' },
})
export class SendInvoice extends Job {
  [property: string]: unknown;

  constructor(properties: object) {
    super();
    Object.assign(this, { to: 'ada', lines: [], amount: 1, plan: null, due: null }, properties);
  }

  handle(): void {
    runs.push({ ...this });
    act.behave();
  }

  failed(error: Error): void {
    runs.push(error.message);
  }
}

export let application: TestApplication;
export let executor: Executor;

/** Sets up a fresh scene before each test of the file. */
export function setTheScene(): void {
  beforeEach(() => {
    runs = [];
    act.behave = () => undefined;
    application = testApplication();
    executor = new Executor(application.manager, { defaults: {}, grace: 60 });
  });
  afterEach(async () => {
    executor.close();
    await application.manager.close();
  });
}

export type Fields = Record<string, unknown> & { data: Record<string, unknown> };

export async function taken(): Promise<object> {
  const request = { queues: ['invoices'], limit: 1, lease: 60 };
  const { reservations } = await reserveFrom(application.manager.driver(), request);
  return JSON.parse(reservations[0]!.payload.toString()) as object;
}

export async function sent(properties: object = {}): Promise<Fields> {
  await application.bus.dispatch(new SendInvoice(properties));
  return (await taken()) as Fields;
}

/** The properties in PHP's text of the job. */
export async function inPhp(properties: object): Promise<Record<string, PhpValue>> {
  const { data } = await sent(properties);
  const object = readPhpText(data['command'] as string) as PhpObject;
  return Object.fromEntries(object.entries) as Record<string, PhpValue>;
}

export const command = (properties: Readonly<Record<string, PhpValue>>, name = NAME): string =>
  phpText(new PhpObject(name, new Map(Object.entries(properties))));

/** As Laravel sends it. */
export const fromLaravel = (text: string, fields: object = {}, name = NAME): Buffer =>
  Buffer.from(
    JSON.stringify({
      uuid: 'u',
      displayName: name,
      job: 'Illuminate\\Queue\\CallQueuedHandler@call',
      maxTries: null,
      maxExceptions: null,
      failOnTimeout: false,
      backoff: null,
      timeout: null,
      retryUntil: null,
      data: { commandName: name, command: text },
      id: 'the-id',
      attempts: 0,
      ...fields,
    }),
  );

export async function run(payload: Buffer, counters = {}): Promise<{ job: RunningJob; outcome: Outcome }> {
  const job = reserved(application.manager, payload, counters);
  return { job, outcome: await executor.run(job) };
}

/** What a worker reads from one property of PHP. */
export async function read(value: PhpValue): Promise<unknown> {
  const { outcome } = await run(fromLaravel(command({ value })));
  if (outcome.error !== undefined) throw outcome.error;
  return (runs.pop() as { value: unknown }).value;
}

export const php = (name: string, properties: Readonly<Record<string, PhpValue>>): PhpObject =>
  new PhpObject(name, new Map(Object.entries(properties)));
export const list = (...items: readonly PhpValue[]): PhpArray => new PhpArray(new Map(items.entries()));
export const moment = (date: string, kind: number, timezone: string): PhpObject =>
  php('Illuminate\\Support\\Carbon', { date, timezone_type: kind, timezone });
