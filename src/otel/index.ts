/**
 * The public surface of `onqueue/otel`: an observer for `Queue.observe` that tells OpenTelemetry of dispatches and runs.
 *
 * A dispatch is a span `send <queue>`, whose context travels in the payload; each attempt is a span `process <queue>` of its own, in
 * which the middleware and `handle()` run. Each span that is begun is ended, but for those of a process that was killed: they are
 * never exported.
 */
import type { Span, TextMapGetter } from '@opentelemetry/api';
import type { EndedRun, JobContext, Observer } from '../index';
import { apiMissing, invalidTelemetry } from './errors';
import {
  ATTEMPTS,
  attributesOf,
  CRASHES,
  DURATION,
  ERROR_TYPE,
  errorType,
  labelsOf,
  OUTCOME,
  SENT,
  SYSTEM,
} from './names';

/** `parent`: a run belongs to the trace of its dispatch. `link`: it begins a trace of its own, with a link to its dispatch. */
export type Propagation = 'parent' | 'link';

export interface OpenTelemetryOptions {
  /** How runs belong to their dispatches; a function chooses for each job. Default: `parent`. */
  propagation?: Propagation | ((job: JobContext) => Propagation) | undefined;
  /** Also records the metrics `messaging.process.duration` and `messaging.client.sent.messages`. Default: false. */
  metrics?: boolean | undefined;
}

/**
 * An observer for `Queue.observe`. Uses the providers that are registered when something happens.
 *
 * @throws E_INVALID_TELEMETRY, E_MISSING_PEER
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Observer {
  const { propagation: how = 'parent', metrics: isMeasuring = false, ...others } = checked(options);
  for (const name of Object.keys(others)) throw refused(name, options, 'there are `propagation` and `metrics`');
  if (typeof how !== 'function') checkPropagation(how);
  if (typeof isMeasuring !== 'boolean') throw refused('metrics', options, 'write true or false');
  const { context, metrics, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = loadApi();
  const tracer = trace.getTracer(SYSTEM);
  const meter = isMeasuring ? metrics.getMeter(SYSTEM) : undefined;
  const duration = meter?.createHistogram(DURATION, { unit: 's', description: 'How long runs of jobs took.' });
  const sent = meter?.createCounter(SENT, { unit: '{message}', description: 'Jobs that were sent to a queue.' });
  const open = new WeakMap<JobContext, Span>();

  const fail = (span: Span, error: unknown): void => {
    const told = error instanceof Error ? error : new Error(String(error));
    span.recordException(told);
    span.setAttribute(ERROR_TYPE, errorType(error));
    span.setStatus({ code: SpanStatusCode.ERROR, message: told.message });
  };

  return {
    dispatching(job) {
      const span = tracer.startSpan(`send ${job.queue}`, {
        kind: SpanKind.PRODUCER,
        attributes: attributesOf(job, 'send'),
      });
      const fields: Record<string, string> = {};
      propagation.inject(trace.setSpan(context.active(), span), fields);
      const end = (error?: unknown): void => {
        if (error !== undefined) fail(span, error);
        span.end();
        sent?.add(1, { ...labelsOf(job, 'send'), ...(error !== undefined && { [ERROR_TYPE]: errorType(error) }) });
      };
      const dropped = (): void => {
        span.setAttribute(OUTCOME, 'dropped');
        span.end();
      };
      return { fields, end, dropped };
    },

    around(job, call) {
      const sender = propagation.extract(ROOT_CONTEXT, job.payload, TEXTS);
      const from = trace.getSpanContext(sender);
      const isParent = (typeof how === 'function' ? checkPropagation(how(job)) : how) === 'parent';
      const parent = from !== undefined && isParent ? sender : context.active();
      const links = from === undefined || isParent ? [] : [{ context: from }];
      const attributes = { ...attributesOf(job, 'process'), [ATTEMPTS]: job.attempts };
      const span = tracer.startSpan(`process ${job.queue}`, { kind: SpanKind.CONSUMER, links, attributes }, parent);
      open.set(job, span);
      return context.with(trace.setSpan(parent, span), call);
    },

    ended({ job, outcome, error, reservation, took }: EndedRun) {
      const span = open.get(job);
      // Its handler was not called.
      if (span === undefined) return;
      open.delete(job);
      span.setAttribute(OUTCOME, outcome);
      const { crashes } = reservation.counters;
      if (crashes > 0) span.setAttribute(CRASHES, crashes);
      const hasFailed = error !== undefined && outcome !== 'completed';
      if (hasFailed) fail(span, error);
      span.end();
      const type = hasFailed && { [ERROR_TYPE]: errorType(error) };
      duration?.record(took / 1000, { ...labelsOf(job, 'process'), [OUTCOME]: outcome, ...type });
    },
  };
}

/** Anybody may write payloads: only texts are read. */
const TEXTS: TextMapGetter<Readonly<Record<string, unknown>>> = {
  keys: (payload) => Object.keys(payload),
  get(payload, key) {
    const value = Object.hasOwn(payload, key) ? payload[key] : undefined;
    return typeof value === 'string' ? value : undefined;
  },
};

function loadApi(): typeof import('@opentelemetry/api') {
  try {
    return require('@opentelemetry/api') as typeof import('@opentelemetry/api');
  } catch (cause) {
    throw apiMissing(cause);
  }
}

function checked(options: OpenTelemetryOptions): OpenTelemetryOptions {
  if (typeof options === 'object' && options !== null) return options;
  throw invalidTelemetry(String(options), "give an object, such as { propagation: 'link' }");
}

function checkPropagation(given: Propagation): Propagation {
  if (given === 'parent' || given === 'link') return given;
  throw refused(
    'propagation',
    { propagation: given },
    "write 'parent', 'link', or a function of the job that returns one",
  );
}

function refused(name: string, options: object, remedy: string): Error {
  const value = (options as Readonly<Record<string, unknown>>)[name];
  const text = typeof value === 'string' ? `'${value}'` : String(value);
  return invalidTelemetry(`{ ${name}: ${text} }`, remedy);
}
