/** What the real SDK exports of jobs. */
import { context, metrics, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { openTelemetry, type OpenTelemetryOptions } from '../../src/otel';
import { Transaction } from '../../src/dispatch/transaction';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { elapse, testApplication, type TestApplication } from '../support/application';

const exporter = new InMemorySpanExporter();
/** Spans that were started and not ended: OpenTelemetry's specification has none of them. */
const open = new Set<string>();
const watch: SpanProcessor = {
  onStart: (span) => void open.add(span.spanContext().spanId),
  onEnd: (span) => void open.delete(span.spanContext().spanId),
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
};
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter), watch] });
let application: TestApplication;
let reported: unknown[];

@Job()
class Inner extends Job {
  handle(): void {}
}

@Job({ tries: 2, backoff: '1s' })
class Outer extends Job {
  async handle(): Promise<void> {
    trace.getTracer('app').startSpan('query').end();
    if (this.attempts === 1) throw new TypeError('first');
    await application.bus.dispatch(new Inner());
  }
}

@Job()
class Unsendable extends Job {
  readonly run = (): void => undefined;

  handle(): void {}
}

@Job({ timeout: '5s', tries: 1 })
class Obedient extends Job {
  async handle(): Promise<void> {
    await new Promise((resolve) => this.signal.addEventListener('abort', resolve));
  }
}

@Job({ timeout: '5s', tries: 1 })
class Endless extends Job {
  handle(): Promise<void> {
    return new Promise(() => undefined);
  }
}

beforeAll(() => provider.register());
afterAll(async () => {
  await provider.shutdown();
  trace.disable();
  context.disable();
  propagation.disable();
});

beforeEach(() => {
  exporter.reset();
  open.clear();
  reported = [];
  application = testApplication({
    connections: { memory: { driver: 'memory', retryAfter: 600 }, sync: { driver: 'sync' } },
    default: 'memory',
  });
  application.manager.onError((error) => void reported.push(error));
});
afterEach(async () => {
  await application.manager.close();
  expect(open.size).toBe(0);
});

const observe = (options?: OpenTelemetryOptions): void => void application.manager.observe(openTelemetry(options));

async function work(seconds = 10): Promise<void> {
  const worker = new Worker({ drain: true }, application.manager);
  const ended = worker.run();
  await elapse(application.clock, seconds);
  await ended;
}

/** As an HTTP server that is traced handles a request. */
const inRequest = <Result>(run: () => PromiseLike<Result>): Promise<Result> =>
  trace.getTracer('app').startActiveSpan('POST /orders', { kind: SpanKind.SERVER }, async (span) => {
    const result = await run();
    span.end();
    return result;
  });

/** Each span as `name job`, below the one that it belongs to. */
function tree(): string[] {
  const spans = exporter.getFinishedSpans();
  const below = (parent: ReadableSpan | undefined, depth: number): string[] =>
    spans
      .filter(({ parentSpanContext: of }) => of?.spanId === parent?.spanContext().spanId)
      .flatMap((span) => {
        const { 'onqueue.job.name': job, 'onqueue.outcome': outcome, 'error.type': type } = span.attributes;
        const words = [span.name, job, outcome, type].filter((word) => word !== undefined);
        return [`${'  '.repeat(depth)}${words.join(' ')}`, ...below(span, depth + 1)];
      });
  return below(undefined, 0);
}

const spanOf = (name: string): ReadableSpan => exporter.getFinishedSpans().find((span) => span.name === name)!;

describe('openTelemetry()', () => {
  it('makes one trace of a request, its job, a retry and what the job dispatches', async () => {
    observe();
    await inRequest(() => application.bus.dispatch(new Outer()));
    await work();

    expect(tree()).toEqual([
      'POST /orders',
      '  send default Outer',
      '    process default Outer released TypeError',
      '      query',
      '    process default Outer completed',
      '      query',
      '      send default Inner',
      '        process default Inner completed',
    ]);
    expect(spanOf('send default')).toMatchObject({
      kind: SpanKind.PRODUCER,
      attributes: {
        'messaging.system': 'onqueue',
        'messaging.operation.name': 'send',
        'messaging.operation.type': 'send',
        'messaging.destination.name': 'default',
        'messaging.message.id': expect.any(String),
        'onqueue.connection': 'memory',
      },
    });
    expect(spanOf('process default')).toMatchObject({
      kind: SpanKind.CONSUMER,
      attributes: { 'onqueue.job.attempts': 1 },
      status: { code: SpanStatusCode.ERROR, message: 'first' },
      events: [expect.objectContaining({ name: 'exception' })],
    });
  });

  it('keeps the links of a chain in the trace of their dispatch', async () => {
    observe();
    await inRequest(() => application.bus.chain([new Inner(), new Inner()]).dispatch());
    await work();

    expect(tree()).toEqual([
      'POST /orders',
      ...['  send default Inner', '    process default Inner completed'],
      ...['  send default Inner', '    process default Inner completed'],
    ]);
  });

  it.each([
    ['Obedient', () => new Obedient()],
    ['Endless', () => new Endless()],
  ])('ends the span of a job at its timeout (%s)', async (name, make) => {
    observe();
    await application.bus.dispatch(make());
    await work(120);

    expect(tree()).toEqual([`send default ${name}`, `  process default ${name} failed E_JOB_TIMED_OUT`]);
  });

  it('ends the span of a job that a worker gives back when it stops', async () => {
    observe();
    await application.bus.dispatch(new Endless());
    const worker = new Worker({ grace: '1s' }, application.manager);
    const ended = worker.run();
    await elapse(application.clock, 1);
    void worker.stop();
    await elapse(application.clock, 30);
    await ended;

    expect(tree()).toEqual(['send default Endless', '  process default Endless released E_WORKER_STOPPING']);
  });

  it.each(['link', () => 'link'] as const)(
    'lets a run begin a trace of its own, with a link to its dispatch (%s)',
    async (how) => {
      observe({ propagation: how });
      await inRequest(() => application.bus.dispatch(new Inner()));
      await work();

      expect(tree()).toEqual(['POST /orders', '  send default Inner', 'process default Inner completed']);
      const { spanId } = spanOf('send default').spanContext();
      expect(spanOf('process default').links.map((link) => link.context.spanId)).toEqual([spanId]);
    },
  );

  it('sees jobs that run within their dispatch', async () => {
    observe();
    await inRequest(() => application.bus.dispatchSync(new Inner()));
    await inRequest(() => application.bus.dispatch(new Inner().onConnection('sync')));
    await expect(application.bus.dispatchSync(new Outer())).rejects.toThrow('first');

    expect(tree()).toEqual([
      ...['POST /orders', '  send default Inner', '    process default Inner completed'],
      ...['POST /orders', '  send default Inner', '    process default Inner completed'],
      'send default Outer',
      '  process default Outer failed TypeError',
      '    query',
    ]);
  });

  it('begins a trace with each occurrence of a schedule', async () => {
    observe();
    application.manager.schedule(() => new Inner()).everyMinute();
    const worker = new Worker({}, application.manager);
    const ended = inRequest(() => worker.run());
    await elapse(application.clock, 70);
    await worker.stop();
    await ended;

    expect(tree()).toEqual(
      expect.arrayContaining(['POST /orders', 'send default Inner', '  process default Inner completed']),
    );
  });

  it('records a refused dispatch as an error', async () => {
    observe();
    jest.spyOn(application.manager.driver(), 'push').mockRejectedValue(new Error('full'));
    await expect(application.bus.dispatch(new Inner())).rejects.toThrow('full');

    expect(tree()).toEqual(['send default Inner Error']);
  });

  it('ignores a context in a payload that is none', async () => {
    observe();
    for (const traceparent of ['00-no-trace', 7, { toString: 'no' }])
      await application.manager.connection().pushRaw(
        JSON.stringify({
          job: 'onqueue',
          displayName: 'Inner',
          data: { commandName: 'Inner', command: {} },
          traceparent,
        }),
      );
    await work();

    expect(tree()).toEqual(Array(3).fill('process default Inner completed'));
    expect(reported).toEqual([]);
  });

  const inRolledBack = (work: () => Promise<unknown>): Promise<unknown> =>
    Transaction.run(async () => {
      await work();
      throw new Error('back');
    });

  it.each<readonly [of: string, dispatched: () => PromiseLike<unknown>]>([
    ['a job', () => application.bus.dispatch(new Inner()).afterCommit()],
    ['a job of an inner transaction', () => Transaction.run(() => application.bus.dispatch(new Inner()).afterCommit())],
    ['a batch', () => application.bus.batch([new Inner()]).afterCommit().dispatch()],
  ])('ends the span of %s that a transaction has rolled back, as one that nobody has sent', async (_, dispatched) => {
    observe();
    await expect(inRolledBack(async () => dispatched())).rejects.toThrow('back');

    expect(tree()).toEqual(['send default Inner dropped']);
  });

  it.each<readonly [of: string, dispatched: () => PromiseLike<unknown>]>([
    ['a bulk of which one cannot be encoded', () => application.bus.bulk([new Inner(), new Unsendable()])],
    ['a batch of which one cannot be encoded', () => application.bus.batch([new Inner(), new Unsendable()]).dispatch()],
    ['a chain of which one cannot be encoded', () => application.bus.chain([new Inner(), new Unsendable()]).dispatch()],
    ['a job for a transaction that is none', () => application.bus.dispatch(new Inner()).using({})],
    ['a bulk that its store refuses', () => application.bus.bulk([new Inner(), new Inner()])],
    [
      'a batch that its store refuses',
      () => application.bus.batch(Array.from({ length: 2000 }, () => new Inner())).dispatch(),
    ],
    [
      'a transaction whose jobs its store refuses',
      () => Transaction.run(() => application.bus.dispatch(new Inner()).afterCommit()),
    ],
  ])('ends the spans of %s', async (_, dispatched) => {
    observe();
    const driver = application.manager.driver();
    if (_.endsWith('refuses')) jest.spyOn(driver, 'push').mockRejectedValue(new Error('full'));
    await expect(dispatched()).rejects.toBeInstanceOf(Error);

    expect(tree()).toContainEqual(expect.stringMatching(/^send default Inner \w+/));
  });

  it('ends the spans of a batch that runs within its dispatch, and of the jobs of one in a chain', async () => {
    observe();
    await application.bus.batch([new Inner()]).onConnection('sync').dispatch();
    await application.bus.chain([new Inner(), application.bus.batch([new Inner(), new Inner()])]).dispatch();
    await work();

    expect(tree().filter((line) => line.startsWith('send'))).toHaveLength(5);
  });

  it('measures how long runs take, and counts what is sent, on request', async () => {
    const store = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter: store, exportIntervalMillis: 3_600_000 });
    const meters = new MeterProvider({ readers: [reader] });
    metrics.setGlobalMeterProvider(meters);
    observe({ metrics: true });
    await application.bus.dispatch(new Outer());
    await work();
    await meters.forceFlush();

    const [{ scopeMetrics }] = store.getMetrics() as [ResourceMetrics];
    const found = scopeMetrics[0]!.metrics.map(({ descriptor, dataPoints }) => [
      descriptor.name,
      dataPoints.map(({ attributes }) => attributes),
    ]);
    expect(Object.fromEntries(found)).toMatchObject({
      'messaging.process.duration': [
        { 'onqueue.job.name': 'Outer', 'onqueue.outcome': 'released', 'error.type': 'TypeError' },
        { 'onqueue.job.name': 'Outer', 'onqueue.outcome': 'completed' },
        { 'onqueue.job.name': 'Inner', 'onqueue.outcome': 'completed' },
      ],
      'messaging.client.sent.messages': [{ 'onqueue.job.name': 'Outer' }, { 'onqueue.job.name': 'Inner' }],
    });
    await meters.shutdown();
    metrics.disable();
  });

  it('says what to install if the API is not there', () => {
    jest.isolateModules(() => {
      jest.doMock('@opentelemetry/api', () => {
        throw new Error('Cannot find module');
      });
      expect(() => openTelemetry()).toThrow(expect.objectContaining({ code: 'E_MISSING_PEER' }));
      jest.dontMock('@opentelemetry/api');
    });
  });

  it.each([
    [
      { propagation: 'follow' },
      "openTelemetry({ propagation: 'follow' }): write 'parent', 'link', or a function of the job",
    ],
    [{ metrics: 'all' }, "openTelemetry({ metrics: 'all' }): write true or false."],
    [{ trace: true }, 'openTelemetry({ trace: true }): there are `propagation` and `metrics`.'],
    ['link', "openTelemetry(link): give an object, such as { propagation: 'link' }."],
  ])('refuses %j', (given, message) => {
    expect(() => openTelemetry(given as OpenTelemetryOptions)).toThrow(
      expect.objectContaining({ code: 'E_INVALID_TELEMETRY', message: expect.stringContaining(message) as string }),
    );
  });
});
