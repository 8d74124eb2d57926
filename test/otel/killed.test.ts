/** What is exported of a job whose process is killed in its run: nothing half, and its next run in the same trace. */
import { context, propagation, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { QueueManager } from '../../src/application/queue-manager';
import { silentLogger } from '../../src/base/logger';
import { builtInConnectors } from '../../src/connections/built-in';
import { Job } from '../../src/job/job';
import { openTelemetry } from '../../src/otel';
import { Worker } from '../../src/worker/worker';
import { ChildCommand } from '../cli/kit/child-command';
import { Project } from '../cli/kit/project';
import { meantToPass } from '../support/meant-to-pass';

const modules = ['@opentelemetry/api', '@opentelemetry/sdk-trace-node', '../../src/index', '../../src/otel'];
const [api, sdk, onqueue, otel] = modules.map((name) => JSON.stringify(require.resolve(name)));

/** Each span is a line, written before anything else can happen. */
const PROGRAM = `const { trace } = require(${api});
const { NodeTracerProvider, SimpleSpanProcessor } = require(${sdk});
const { Job, Queue, Worker } = require(${onqueue});
const { openTelemetry } = require(${otel});
const { appendFileSync } = require('node:fs');
const line = (span) => JSON.stringify([span.name, span.spanContext().traceId, span.spanContext().spanId]) + '\\n';
const exporter = { export: (spans, done) => (spans.forEach((span) => appendFileSync('spans', line(span))), done({ code: 0 })), shutdown: async () => {} };
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
Queue.configure({ connections: { main: { driver: 'database', url: 'sqlite:./queue.sqlite', retryAfter: ${JSON.stringify(meantToPass('1s'))} } } });
Queue.observe(openTelemetry());
const Render = Job()(class Render extends Job {
  handle() {
    trace.getTracer('app').startSpan('query').end();
    process.kill(process.pid, 'SIGKILL');
  }
});
Render.dispatch().then(() => new Worker().run());
`;

it('has no span left open after a kill, and the next run in the trace of the dispatch', async () => {
  const project = new Project({ 'program.cjs': PROGRAM });
  const killed = new ChildCommand(project.folder, ['program.cjs']);
  expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' });
  const spans = project.read('spans').trimEnd().split('\n');
  const [[sent, traceId, sendId], [query]] = spans.map((text) => JSON.parse(text) as string[]) as [string[], string[]];
  expect([sent, query, spans.length]).toEqual(['send default', 'query', 2]);

  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
  @Job({ name: 'Render' })
  class Render extends Job {
    handle(): void {}
  }
  const url = `sqlite:${project.folder}/queue.sqlite`;
  const manager = new QueueManager(
    { connectors: builtInConnectors, logger: silentLogger },
    { connections: { main: { driver: 'database', url } }, jobs: [Render] },
  );
  manager.observe(openTelemetry());
  await new Worker({ maxJobs: 1 }, manager).run();
  await manager.close();

  const ended = exporter.getFinishedSpans();
  expect(
    ended.map(({ name, attributes }) => [name, attributes['onqueue.outcome'], attributes['onqueue.job.crashes']]),
  ).toEqual([['process default', 'completed', 1]]);
  expect(ended[0]!.spanContext().traceId).toBe(traceId);
  expect(ended[0]!.parentSpanContext?.spanId).toBe(sendId);
  await provider.shutdown();
  trace.disable();
  context.disable();
  propagation.disable();
  project.remove();
});
