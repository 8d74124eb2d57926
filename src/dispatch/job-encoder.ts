/** Turns a job into the entry that a store takes: where it goes, when, and as which text. */
import type { Hooks } from '../job/hooks';
import { chosenOf, type InstanceChoice } from '../job/beside-instance';
import type { JobDefinition } from '../job/definition';
import { checkInstance, definitionOfJob } from '../job/definition-of';
import type { Middleware } from '../job/middleware';
import type { Route } from '../job/options';
import type { JobRegistry } from '../job/registry';
import { resolveChosen, resolveRoute } from '../job/resolve-options';
import { encodePayload, encodeStringJob } from '../payload/payload-text';
import { uuidv7 } from '../payload/uuid';
import type { Entry } from '../connections/contract';
import type { Timed } from '../connections/due-entries';
import type { ConnectionSettings } from '../connections/connector';
import { unregisteredMiddleware } from './errors';
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

export class JobEncoder {
  readonly #parts: EncoderParts;

  constructor(parts: EncoderParts) {
    this.#parts = parts;
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
    const { hooks } = this.#parts;
    checkSize(payload, name, this.#parts.settings(connection));
    const entry: Entry = dueAt === undefined ? (delay > 0 ? { payload, delay } : { payload }) : { payload, dueAt };
    const isHeard = hooks.has('queueing') || hooks.has('queued');
    return isHeard ? { id, name, connection, queue, entry, hooks } : { id, name, connection, queue, entry };
  }

  #route(dispatch: InstanceChoice, instance: InstanceChoice, definition: JobDefinition | undefined): Route {
    const routed = definition && this.#parts.routes.of(definition.target);
    return resolveRoute({ dispatch, instance, definition, routed }, this.#parts);
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
