/** Turns a job into the entry that a store takes: where it goes, when, and as which text. */
import { OnqueueError } from '../base/onqueue-error';
import type { Hooks } from '../job/hooks';
import { checkInstance } from '../job/check-instance';
import { chosenOf } from '../job/chosen';
import type { InstanceChoice } from '../job/chosen';
import type { JobDefinition } from '../job/definition';
import { definitionOfJob } from '../job/definition-of';
import type { Middleware } from '../job/middleware';
import type { Route } from '../job/options';
import type { JobRegistry } from '../job/registry';
import { resolveChosen, resolveRoute, type RouteSources } from '../job/resolve-options';
import { encodePayload, encodeStringJob } from '../payload/envelope';
import { uuidv7 } from '../payload/uuid';
import type { Entry } from '../connections/contract';
import type { Timed } from '../connections/due-entries';
import type { ConnectionSettings } from '../connections/connector';
import { notAJob } from '../job/errors';
import { unregisteredMiddleware } from './errors';
import { nextTurn } from '../base/next-turn';
import { checkSize } from './payload-size';
import type { Routes } from './routes';

/**
 * Gives fields to add to a payload, such as a trace or a tenant; a job reads them in `this.job.payload`.
 *
 * @param job the name of the job
 */
export type PayloadCreator = (
  connection: string,
  queue: string,
  job: string,
) => Readonly<Record<string, unknown>> | undefined | void;

/** A job on its way to a connection. */
export interface EncodedJob extends Timed {
  /** Empty: a raw payload, which may have none. */
  readonly id: string;
  /** The job's name, for errors. */
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
  /** Those who hear of its push; undefined: nobody does. */
  readonly hooks?: Hooks | undefined;
}

export interface EncoderParts {
  readonly registry: JobRegistry;
  /** What `createPayloadUsing` was given and is still there. */
  readonly payloadCreators: Iterable<PayloadCreator>;
  readonly hooks: Hooks;
  readonly routes: Routes;
  /** @throws E_UNKNOWN_CONNECTION */
  settings(connection?: string): ConnectionSettings;
}

/** At some 10 µs for each, a millisecond's worth. */
const ENCODED_AT_ONCE = 100;

export class JobEncoder {
  readonly #parts: EncoderParts;
  readonly #connectionDefaults: RouteSources['connectionDefaults'];

  constructor(parts: EncoderParts) {
    this.#parts = parts;
    this.#connectionDefaults = {
      // Asked for only where nobody named a connection: it may have to load the configuration.
      get connection() {
        return parts.settings().name;
      },
      queue: (connection) => parts.settings(connection).queue,
    };
  }

  /** @throws E_UNDECORATED_JOB */
  definitionOf(job: object): JobDefinition {
    return definitionOfJob(job, this.#parts.registry);
  }

  /** @throws E_UNKNOWN_CONNECTION, E_INVALID_DURATION, E_INVALID_QUEUE_NAME */
  route(job: object, dispatch: InstanceChoice): Route {
    return this.#route(dispatch, chosenOf(job), this.definitionOf(job));
  }

  /** @throws what is wrong with the job or its data; nothing was sent */
  encode(job: object, dispatch: InstanceChoice): EncodedJob {
    const definition = this.definitionOf(job);
    checkInstance(job, definition);
    const instance = chosenOf(job);
    const route = this.#route(dispatch, instance, definition);
    const id = uuidv7();
    const chosen = resolveChosen(job, definition);
    const payload = encodePayload({
      definition,
      job,
      chosen,
      id,
      extra: this.#extra(route, definition.name),
      middleware: middlewareOf(dispatch, instance, this.#parts.registry),
      classes: this.#parts.registry,
    });
    const encoded = this.#encoded(id, definition.name, route, payload);
    return chosen.retryWithin === undefined ? encoded : { ...encoded, retryWithin: chosen.retryWithin };
  }

  /** A job that is only a name, `Class@method`, and JSON data, as Laravel's string jobs are. */
  encodeString(name: string, data: unknown, dispatch: InstanceChoice): EncodedJob {
    const route = this.#route(dispatch, {}, undefined);
    const id = uuidv7();
    return this.#encoded(id, name, route, encodeStringJob({ name, data, id, extra: this.#extra(route, name) }));
  }

  /** Where a text goes that is a payload already. @throws PayloadTooLargeError */
  encodeRaw(payload: string, dispatch: InstanceChoice): EncodedJob {
    return this.#encoded('', 'the payload', this.#route(dispatch, {}, undefined), payload);
  }

  #encoded(id: string, name: string, { connection, queue, delay, dueAt }: Route, payload: string): EncodedJob {
    checkSize(payload, name, this.#parts.settings(connection));
    const entry: Entry = dueAt === undefined ? (delay > 0 ? { payload, delay } : { payload }) : { payload, dueAt };
    const { hooks } = this.#parts;
    const isHeard = hooks.has('queueing') || hooks.has('queued');
    return isHeard ? { id, name, connection, queue, entry, hooks } : { id, name, connection, queue, entry };
  }

  #route(dispatch: InstanceChoice, instance: InstanceChoice, definition: JobDefinition | undefined): Route {
    const connectionDefaults = this.#connectionDefaults;
    const routed = definition === undefined ? undefined : this.#parts.routes.of(definition.target);
    return resolveRoute({ dispatch, instance, definition, routed, connectionDefaults });
  }

  #extra({ connection, queue }: Route, job: string): Record<string, unknown> | undefined {
    let extra: Record<string, unknown> | undefined;
    for (const creator of this.#parts.payloadCreators)
      extra = Object.assign(extra ?? {}, creator(connection, queue, job));
    return extra;
  }
}

/** @throws E_UNREGISTERED_MIDDLEWARE */
function middlewareOf(
  dispatch: InstanceChoice,
  instance: InstanceChoice,
  registry: JobRegistry,
): readonly Middleware[] {
  const middleware = [...(instance.middleware ?? []), ...(dispatch.middleware ?? [])];
  for (const layer of middleware) {
    if (typeof layer === 'object' && layer !== null && registry.nameOf(layer.constructor) !== undefined) continue;
    throw unregisteredMiddleware(layer);
  }
  return middleware;
}

/**
 * Encodes many, with turns of the event loop between them.
 *
 * @throws E_NOT_A_JOB `jobs` is no list; what `encode` throws, with the job's place in the list
 */
export async function encodeAll<Encoded>(
  jobs: Iterable<object>,
  encode: (job: object) => Encoded,
): Promise<readonly Encoded[]> {
  if (typeof (jobs as Partial<Iterable<object>> | undefined)?.[Symbol.iterator] !== 'function')
    throw notAJob(jobs, 'a list of jobs');
  const encoded: Encoded[] = [];
  for (const job of jobs) {
    try {
      encoded.push(encode(job));
    } catch (error) {
      const place = encoded.length + 1;
      throw positioned(error, Array.isArray(jobs) ? `job ${place} of ${jobs.length}` : `job ${place}`);
    }
    if (encoded.length % ENCODED_AT_ONCE === 0) await nextTurn();
  }
  return encoded;
}

/** One of our own errors, saying which of many jobs it speaks of. */
function positioned(error: unknown, position: string): unknown {
  if (!(error instanceof OnqueueError)) return error;
  const { message } = error;
  error.message = `${position}: ${message}`;
  // Printed from its stack, which quotes the message as it was made.
  error.stack = error.stack?.replace(message, () => error.message) ?? error.message;
  return error;
}
