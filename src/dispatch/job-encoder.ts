/** Turns a job into the entry that a store takes: where it goes, when, and as which text. */
import type { Milliseconds } from '../base/clock';
import type { Hooks } from '../job/hooks';
import { PendingBatch, type ChosenBatch } from '../job/batch';
import { isLink } from '../job/chain';
import { chosenOf, type ChosenChain, type InstanceChoice } from '../job/beside-instance';
import type { JobDefinition } from '../job/definition';
import { checkInstance, definitionOfJob } from '../job/definition-of';
import { invalidChain } from '../job/errors';
import type { Middleware } from '../job/middleware';
import type { Route } from '../job/options';
import type { JobRegistry } from '../job/registry';
import { declaredDebouncing, keptResult, resolveChosen, resolveRoute } from '../job/resolve-options';
import { linkText, withChain, type Chain, type ChainLink } from '../payload/chain';
import type { CodecClasses } from '../payload/encoder';
import { encodePayload, encodeShared, encodeStringJob, type ExtraFields } from '../payload/payload-text';
import { tiesMember } from '../payload/ties';
import { momentOfId, uuidv7 } from '../payload/uuid';
import type { Application } from '../connections/application';
import type { ConnectionSettings } from '../connections/driver';
import { aloneInLaravel, debouncedInChain, pushesItselfInChain, unregisteredMiddleware } from './errors';
import type { StartBatch } from './built-in/start-batch';
import { checkBytes, checkSize } from './payload-size';
import { pushesItself } from './send';
import { ObservedDispatch } from './observed-dispatch';
import { RoutedJob, type EncodedJob, type Way } from './encoded-job';
import type { Routes } from './routes';
import { tiesOf } from './declared-ties';

/**
 * Returns fields to add to a payload, such as a trace or a tenant; jobs read them from `this.job.payload`.
 *
 * @param job the name of the job
 */
export type PayloadCreator = (
  connection: string,
  queue: string,
  job: string,
) => Readonly<Record<string, unknown>> | undefined | void;

export interface EncoderParts extends Pick<Application, 'entities' | 'observers' | 'report'> {
  readonly registry: JobRegistry;
  /** The creators added by `createPayloadUsing` and not removed. */
  readonly payloadCreators: Iterable<PayloadCreator>;
  readonly hooks: Hooks;
  readonly routes: Routes;
  /** @throws E_UNKNOWN_CONNECTION */
  settings(connection?: string): ConnectionSettings;
  /** @throws E_NO_RECORDS no connection can keep the results of this connection's jobs */
  checkResults(connection: string): void;
  /** The job that sends a batch, as a link of a chain. @throws any error of the batch */
  linkOfBatch(batch: ChosenBatch): StartBatch;
}

export class JobEncoder {
  readonly #parts: EncoderParts;
  readonly #classes: CodecClasses;

  constructor(parts: EncoderParts) {
    this.#parts = parts;
    this.#classes = withEntities(parts);
  }

  /** @throws E_UNDECORATED_JOB */
  definitionOf(job: object): JobDefinition {
    return definitionOfJob(job, this.#parts.registry);
  }

  /** @throws E_UNKNOWN_CONNECTION, E_INVALID_DURATION, E_INVALID_QUEUE_NAME */
  route(job: object, dispatch: InstanceChoice): Route {
    return this.#route(dispatch, chosenOf(job), this.definitionOf(job));
  }

  /** @throws any error of the job, its data, or its followers; nothing was sent */
  encode(job: object, dispatch: InstanceChoice): EncodedJob {
    const encoded = this.#encode(job, dispatch);
    if (dispatch.chain === undefined) return encoded;
    try {
      return this.#chained(encoded, dispatch.chain);
    } catch (error) {
      encoded.observed?.end(error);
      throw error;
    }
  }

  /**
   * Encodes jobs that follow one of the connection `from`, which is the default for those that choose none.
   *
   * @throws as `encode` does, E_INVALID_CHAIN and E_PUSHES_ITSELF
   */
  links(jobs: readonly object[], from: string, { connection, queue }: Omit<ChosenChain, 'links'> = {}): ChainLink[] {
    return jobs.map((job) => {
      if (!isLink(job))
        throw invalidChain(job, 'only jobs can follow: give an instance, as in appendToChain(new Fetch(1)).');
      const own = chosenOf(job);
      const chosen = { connection: own.connection ?? connection, queue: own.queue ?? queue };
      if (pushesItself(job)) throw pushesItselfInChain(this.definitionOf(job).name);
      const encoded = this.#encode(job, chosen, from);
      encoded.observed?.end();
      return linkOf(encoded, from);
    });
  }

  #chained(first: EncodedJob, chosen: ChosenChain): EncodedJob {
    const { connection } = first;
    const links = this.links(chosen.links, connection, chosen);
    const caught = chosen.caught && this.links([chosen.caught], connection, chosen)[0];
    const payload = withChain(first.entry.payload, { links, caught });
    const whole = `${first.name}, with the ${links.length} jobs that follow it in its payload,`;
    checkSize(payload, whole, this.#parts.settings(connection));
    this.#checkRest({ links, caught }, connection, whole, (name) => this.#parts.settings(name));
    return { ...first, entry: { ...first.entry, payload } };
  }

  /**
   * Checks the rest of a chain, after a job on the connection `from` has added jobs to it. Other connections may be known only to
   * their own workers.
   *
   * @throws PayloadTooLargeError
   */
  checkRest(chain: Chain, from: string, name: string): void {
    const whole = `What follows ${name}, ${chain.links.length} jobs in one payload,`;
    const own = this.#parts.settings(from);
    this.#checkRest(chain, from, whole, (other) => (other === from ? own : undefined));
  }

  // Each link carries those behind it: to its own connection, whose limit may be lower, and on the way there within a carrier.
  #checkRest(
    { links, caught }: Chain,
    from: string,
    whole: string,
    settingsOf: (connection: string) => ConnectionSettings | undefined,
  ): void {
    const isCarried = links.some(({ connection }) => connection !== undefined);
    // If it is sent elsewhere, each link names the connection it comes from.
    const named = (link: ChainLink): ChainLink => (isCarried ? { connection: from, ...link } : link);
    let carried = caught === undefined ? 0 : bytesOfLink(named(caught));
    let escaped = caught === undefined || !isCarried ? 0 : escapedBytesOfLink(named(caught));
    for (let place = links.length - 1; place >= 0; place -= 1) {
      const link = links[place]!;
      const { connection = from, payload } = link;
      const settings = settingsOf(connection);
      if (settings !== undefined) checkBytes(Buffer.byteLength(payload) + carried, whole, settings);
      carried += bytesOfLink(named(link));
      if (!isCarried) continue;
      const sender = links[place - 1]?.connection ?? from;
      const senders = sender === connection ? undefined : settingsOf(sender);
      if (senders !== undefined) checkBytes(CARRIER_BYTES + escapedBytes(payload) + escaped, whole, senders);
      escaped += escapedBytesOfLink(named(link));
    }
  }

  /**
   * @param from for a job that follows another: its connection. Such a job holds no unique key, because nothing may refuse it.
   */
  #encode(job: object, dispatch: InstanceChoice, from?: string): EncodedJob {
    if (job instanceof PendingBatch) return this.#encodeBatch(job, dispatch, from);
    const definition = this.definitionOf(job);
    checkInstance(job, definition);
    const isBound = from !== undefined || dispatch.chain !== undefined || dispatch.batch !== undefined;
    if (isBound && declaredDebouncing(definition) !== undefined) throw debouncedInChain(definition.name);
    const instance = chosenOf(job);
    const route = this.#route(dispatch, instance, definition, from);
    if (keptResult(definition) !== undefined) this.#parts.checkResults(route.connection);
    const { batch, occurrence } = dispatch;
    const id = occurrence?.id ?? uuidv7();
    const chosen = resolveChosen(job, definition);
    const own = from === undefined ? tiesOf(job, definition, route.queue) : undefined;
    const key = occurrence?.key;
    const unique = own ?? (key === undefined ? undefined : { unique: { key, until: 'end' as const } });
    const ties = batch === undefined ? unique : unique === undefined ? { batch } : { ...unique, batch };
    const middleware = middlewareOf(dispatch, instance, this.#parts.registry);
    const { retryWithin } = chosen;
    const isShared = definition.format !== undefined;
    if (isShared && (isBound || occurrence !== undefined || middleware.length > 0))
      throw aloneInLaravel(definition.name);
    const write = isShared ? encodeShared : encodePayload;
    return this.#encoded(id, definition.name, { route, ties, retryWithin }, (extra) =>
      write({
        definition,
        job,
        chosen,
        id,
        readyAt: from === undefined ? readyAt(id, route) : null,
        extra,
        middleware,
        classes: this.#classes,
        occurrence,
        ties: ties && tiesMember(ties),
      }),
    );
  }

  /** Encodes a batch that is a link of a chain, as a job that sends it. */
  #encodeBatch({ chosen }: PendingBatch<unknown>, dispatch: InstanceChoice, from?: string): EncodedJob {
    const { connection = dispatch.connection ?? from, queue = dispatch.queue } = chosen;
    const job = this.#parts.linkOfBatch({ ...chosen, connection, queue });
    const { place, jobs } = job.plan;
    // Workers surely work where its jobs go; on the connection's default queue it might wait for ever, and the chain with it.
    const to = jobs[0]?.queue ?? place.queue;
    return this.#encode(job, { ...dispatch, connection: place.connection, queue: to }, from);
  }

  /** A job that is only a name, `Class@method`, and JSON data, like Laravel's string jobs. */
  encodeString(name: string, data: unknown, dispatch: InstanceChoice): EncodedJob {
    const route = this.#route(dispatch, {}, undefined);
    const id = uuidv7();
    return this.#encoded(id, name, { route }, (extra) =>
      encodeStringJob({ name, data, id, readyAt: readyAt(id, route), extra }),
    );
  }

  /** Routes a text that is already a payload. @throws PayloadTooLargeError */
  encodeRaw(payload: string, dispatch: InstanceChoice): EncodedJob {
    return this.#checked('', 'the payload', { route: this.#route(dispatch, {}, undefined) }, payload);
  }

  /** @param encode returns the payload, including the fields that others add */
  #encoded(id: string, name: string, way: Way, encode: (extra: ExtraFields | undefined) => string): EncodedJob {
    const created = this.#created(way.route, name);
    const { connection: connectionName, queue } = way.route;
    const isObserved = this.#parts.observers.size > 0;
    const observed = isObserved ? ObservedDispatch.of(this.#parts, { id, name, connectionName, queue }) : undefined;
    if (observed === undefined) return this.#checked(id, name, way, encode(created && { created }));
    try {
      const { fields } = observed;
      const extra = created === undefined && fields === undefined ? undefined : { created, observed: fields };
      return this.#checked(id, name, way, encode(extra), observed);
    } catch (error) {
      observed.end(error);
      throw error;
    }
  }

  #checked(id: string, name: string, way: Way, payload: string, observed?: ObservedDispatch): EncodedJob {
    checkSize(payload, name, this.#parts.settings(way.route.connection));
    const { hooks } = this.#parts;
    return new RoutedJob(id, name, way, payload, hooks.hearPushes ? hooks : undefined, observed);
  }

  /** @param from the default connection; without it, the configuration's */
  #route(
    dispatch: InstanceChoice,
    instance: InstanceChoice,
    definition: JobDefinition | undefined,
    from?: string,
  ): Route {
    const routed = definition && this.#parts.routes.of(definition.target);
    const destinations = from === undefined ? this.#parts : { settings: (name = from) => this.#parts.settings(name) };
    return resolveRoute({ dispatch, instance, definition, routed }, destinations);
  }

  #created({ connection, queue }: Route, job: string): Record<string, unknown> | undefined {
    let created: Record<string, unknown> | undefined;
    for (const creator of this.#parts.payloadCreators)
      created = Object.assign(created ?? {}, creator(connection, queue, job));
    return created;
  }
}

/** The registered classes, and the entities of the configuration, which is read only when there may be one. */
function withEntities(parts: EncoderParts): CodecClasses {
  return {
    nameOf: (target) => parts.registry.nameOf(target),
    classOf: (name) => parts.registry.classOf(name),
    definitionOf: (target) => parts.registry.definitionOf(target),
    entityOf(value) {
      for (const adapter of parts.entities) {
        const entity = adapter.identify(value);
        if (entity !== undefined) return [adapter.name, entity];
      }
      return undefined;
    },
  };
}

/** When the job becomes ready, unless at once. The id only says when the job was created. */
function readyAt(id: string, { delay, dueAt }: Route): Milliseconds | undefined {
  return dueAt ?? (delay > 0 ? Math.round(momentOfId(id)! + delay * 1000) : undefined);
}

/** A job in the form in which it waits in the payload of the one before it. */
function linkOf({ connection, queue, entry, retryWithin }: EncodedJob, from: string): ChainLink {
  return {
    queue,
    ...(connection !== from && { connection }),
    ...(entry.delay !== undefined && { delay: entry.delay }),
    ...(entry.dueAt !== undefined && { dueAt: entry.dueAt }),
    ...(retryWithin !== undefined && { retryWithin }),
    payload: entry.payload,
  };
}

const bytesOfLink = (link: ChainLink): number => Buffer.byteLength(linkText(link)) + 1;

/** The length of a text within another JSON text. */
const escapedBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text));

const escapedBytesOfLink = (link: ChainLink): number => escapedBytes(linkText(link));

/** An upper bound for a carrier without the job that it carries. */
const CARRIER_BYTES = 1024;

const NONE: readonly never[] = [];

/** @throws E_UNREGISTERED_MIDDLEWARE */
function middlewareOf(
  dispatch: InstanceChoice,
  instance: InstanceChoice,
  registry: JobRegistry,
): readonly Middleware[] {
  if (instance.middleware === undefined && dispatch.middleware === undefined) return NONE;
  const middleware = [...(instance.middleware ?? []), ...(dispatch.middleware ?? [])];
  for (const layer of middleware) {
    if (typeof layer === 'object' && layer !== null && registry.nameOf(layer.constructor) !== undefined) continue;
    throw unregisteredMiddleware(layer);
  }
  return middleware;
}
