/**
 * Turns a job into the entry that a store takes: where it goes, when, and as which text; what it is tied to, whether it is too large,
 * and what observers add.
 */
import { chosenOf, type ChosenChain, type InstanceChoice } from '../job/choices';
import { checkBytes } from './payload-limit';
import type { Milliseconds, Seconds } from '../base/clock';
import type { Hooks } from '../job/hooks';
import { PendingBatch, isLink } from '../job/pending';
import { definitionOfJob, definitionToSend, warnOfNoHandler } from '../job/instance';
import type { JobDefinition, JobRegistry } from '../job/registry';
import { invalidChain } from '../job/errors';
import type { Middleware } from '../job/middleware';
import type { Route } from '../job/options';
import {
  declaredDebouncing,
  declaredLane,
  keptResult,
  resolveChosen,
  resolveRoute,
  declaredUniqueness,
} from '../job/resolve-options';
import { measureChain, withChain, type Chain, type ChainLink } from '../payload/chain';
import type { CodecClasses } from '../payload/encoder';
import { HeldEntities } from '../payload/entities';
import {
  encodePayload,
  encodeShared,
  encodeStringJob,
  type ExtraFields,
  type PayloadParts,
  type StringJobParts,
} from '../payload/payload-text';
import { tiesMember, debounceKey, laneKey, uniqueKey, type LaneTie, type Ties } from '../payload/ties';
import { momentOfId, uuidv7 } from '../payload/uuid';
import type { Application, DispatchingJob, DispatchObservation } from '../connections/application';
import {
  aloneInLaravel,
  debouncedInChain,
  pushesItselfInChain,
  unregisteredMiddleware,
  invalidLaneKey,
  invalidUniqueKey,
} from './errors';
import { linkOfBatch } from './batch/send-batch';
import { checkTies, pushesItself } from './send';
import type { Entry } from '../connections/contract';
import type { Timed } from '../connections/entries';

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

/** Classes of which a job was sent: those that nothing here could run were warned about. */
const met = new WeakSet<JobDefinition>();

export class JobEncoder {
  readonly #application: Application;
  readonly #classes: CodecClasses;

  constructor(application: Application) {
    this.#application = application;
    this.#classes = withEntities(application);
  }

  /** @throws E_UNKNOWN_CONNECTION, E_INVALID_DURATION, E_INVALID_QUEUE_NAME */
  route(job: object, dispatch: InstanceChoice): Route {
    const definition = definitionOfJob(job, this.#application.registry);
    const { routes } = this.#application;
    const routed = routes.areSet ? routes.of(definition.target) : undefined;
    return resolveRoute({ dispatch, instance: chosenOf(job), definition, routed }, this.#application);
  }

  /**
   * @param from for a job that follows another: its connection, which is the default for it. Such a job holds no unique key, because
   * nothing may refuse it.
   * @throws any error of the job, its data, or its followers; nothing was sent
   */
  encode(job: object, dispatch: InstanceChoice, from?: string): EncodedJob {
    if (job instanceof PendingBatch) return this.#encodeBatch(job, dispatch, from);
    const application = this.#application;
    const { registry, routes } = application;
    const definition = definitionToSend(job, registry);
    if (!met.has(definition)) warnOfNoHandler(definition, registry);
    met.add(definition);
    const { name, format, options } = definition;
    const { batch, chain, occurrence } = dispatch;
    const isBound = from !== undefined || chain !== undefined || batch !== undefined;
    if (isBound && declaredDebouncing(definition) !== undefined) throw debouncedInChain(name);
    const instance = chosenOf(job);
    const routed = routes.areSet ? routes.of(definition.target) : undefined;
    const route = resolveRoute({ dispatch, instance, definition, routed, from }, application);
    if (options.keepResult !== undefined && keptResult(definition) !== undefined)
      this.#checkResults(route.connection, name);
    const id = occurrence?.id ?? uuidv7();
    const chosen = resolveChosen(job, definition);
    const hasKey = options.unique !== undefined || options.debounce !== undefined;
    const own = hasKey && from === undefined ? tiesOf(job, definition, route.queue) : undefined;
    const key = occurrence?.key;
    const unique = own ?? (key === undefined ? undefined : { unique: { key, until: 'end' as const } });
    const others = batch === undefined ? unique : unique === undefined ? { batch } : { ...unique, batch };
    const lane = options.lane === undefined ? undefined : laneTieOf(job, definition);
    const ties = lane === undefined ? others : { ...others, lane };
    const isWrapped = instance.middleware !== undefined || dispatch.middleware !== undefined;
    const middleware = isWrapped ? middlewareOf(dispatch, instance, registry) : [];
    if (format !== undefined && (isBound || occurrence !== undefined || middleware.length > 0))
      throw aloneInLaravel(name);
    const parts: PayloadParts = {
      definition,
      job,
      chosen,
      id,
      readyAt: from === undefined ? readyAt(id, route) : null,
      extra: undefined,
      middleware,
      classes: this.#classes,
      occurrence,
      ties: ties && tiesMember(ties),
      vault: options.encrypted === true ? application.vault : undefined,
    };
    const way = { route, ties, retryWithin: chosen.retryWithin };
    const encoded = this.#encoded(name, way, parts, format === undefined ? encodePayload : encodeShared);
    return chain === undefined ? encoded : this.#chained(encoded, chain);
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
      if (pushesItself(job)) throw pushesItselfInChain(definitionOfJob(job, this.#application.registry).name);
      const encoded = this.encode(job, chosen, from);
      encoded.observed?.end();
      if (encoded.entry.ties !== undefined) checkTies([encoded], () => this.#application.driver(encoded.connection));
      return linkOf(encoded, from);
    });
  }

  /** @throws E_NO_RECORDS no connection can keep the results of this connection's jobs */
  #checkResults(connection: string, job: string): void {
    const driver = this.#application.driver(connection);
    if (driver.capabilities.reserve) this.#application.neededOperationsOf(driver, job);
  }

  #chained(first: EncodedJob, chosen: ChosenChain): EncodedJob {
    const { connection, name, entry, observed } = first;
    const application = this.#application;
    try {
      const links = this.links(chosen.links, connection, chosen);
      const caught = chosen.caught && this.links([chosen.caught], connection, chosen)[0];
      const payload = withChain(entry.payload, { links, caught });
      const whole = `${name}, with the ${links.length} jobs that follow it in its payload,`;
      checkBytes(Buffer.byteLength(payload), whole, application.settings(connection));
      measureChain({ links, caught }, connection, (bytes, to) => checkBytes(bytes, whole, application.settings(to)));
      return Object.assign(first, { entry: { ...entry, payload } });
    } catch (error) {
      observed?.end(error);
      throw error;
    }
  }

  /**
   * Checks the rest of a chain, after a job on the connection `from` has added jobs to it. Other connections may be known only to
   * their own workers.
   *
   * @throws PayloadTooLargeError
   */
  checkRest(chain: Chain, from: string, name: string): void {
    const whole = `What follows ${name}, ${chain.links.length} jobs in one payload,`;
    const own = this.#application.settings(from);
    measureChain(chain, from, (bytes, to) => {
      if (to === from) checkBytes(bytes, whole, own);
    });
  }

  /** Encodes a batch that is a link of a chain, as a job that sends it. */
  #encodeBatch({ chosen }: PendingBatch<unknown>, dispatch: InstanceChoice, from?: string): EncodedJob {
    const { connection = dispatch.connection ?? from, queue = dispatch.queue } = chosen;
    const job = linkOfBatch(this.#application, { ...chosen, connection, queue });
    const { place, jobs } = job.plan;
    // Workers surely work where its jobs go; on the connection's default queue it might wait for ever, and the chain with it.
    const to = jobs[0]?.queue ?? place.queue;
    return this.encode(job, { ...dispatch, connection: place.connection, queue: to }, from);
  }

  /** A job that is only a name, `Class@method`, and JSON data, like Laravel's string jobs. */
  encodeString(name: string, data: unknown, dispatch: InstanceChoice): EncodedJob {
    const route = resolveRoute({ dispatch, instance: {}, definition: undefined }, this.#application);
    const id = uuidv7();
    const parts: StringJobParts = { name, data, id, readyAt: readyAt(id, route), extra: undefined };
    return this.#encoded(name, { route }, parts, encodeStringJob);
  }

  /** Routes a text that is already a payload. @throws PayloadTooLargeError */
  encodeRaw(payload: string, dispatch: InstanceChoice): EncodedJob {
    const route = resolveRoute({ dispatch, instance: {}, definition: undefined }, this.#application);
    return this.#checked('', 'the payload', { route }, payload);
  }

  /** @param parts of the payload, without the fields that others add */
  #encoded<Parts extends { readonly id: string; extra?: ExtraFields | undefined }>(
    name: string,
    way: Way,
    parts: Parts,
    write: (parts: Parts) => string,
  ): EncodedJob {
    const { observers, payloadCreators } = this.#application;
    const { id } = parts;
    const { connection, queue } = way.route;
    let created: Record<string, unknown> | undefined;
    for (const creator of payloadCreators) created = Object.assign(created ?? {}, creator(connection, queue, name));
    const seen = { id, name, connectionName: connection, queue };
    const observed = observers.size === 0 ? undefined : observe(this.#application, seen);
    const fields = observed?.fields;
    if (created !== undefined || fields !== undefined) parts.extra = { created, observed: fields };
    try {
      return this.#checked(id, name, way, write(parts), observed);
    } catch (error) {
      observed?.end(error);
      throw error;
    }
  }

  #checked(id: string, name: string, way: Way, payload: string, observed?: ObservedDispatch): EncodedJob {
    const settings = this.#application.settings(way.route.connection);
    // No character takes more than three bytes, so short texts need no counting.
    if (payload.length * 3 > settings.maxPayload) checkBytes(Buffer.byteLength(payload), name, settings);
    const { hooks } = this.#application;
    const { queueing, queued, skipped } = hooks.hears;
    return new EncodedJob(id, name, way, payload, queueing || queued || skipped ? hooks : undefined, observed);
  }
}

/** The registered classes, and the entities of the configuration, which is read only when there may be one. */
function withEntities(application: Application): CodecClasses {
  return {
    nameOf: (target) => application.registry.nameOf(target),
    classOf: (name) => application.registry.classOf(name),
    definitionOf: (target) => application.registry.definitionOf(target),
    entityOf(value) {
      // The job of a stored schedule: it was decoded, and is sent again.
      if (value instanceof HeldEntities) {
        const { adapter, class: name, connection, id } = value;
        return [adapter, { class: name, ...(connection !== undefined && { connection }), id }];
      }
      for (const adapter of application.entities) {
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

/** In characters. A key is an id, not data. */
const LONGEST_KEY = 1000;

/** Undefined if it has no key. @throws E_INVALID_UNIQUE_KEY */
function tiesOf(job: object, definition: JobDefinition, queue: string): Ties | undefined {
  const { name } = definition;
  const debouncing = declaredDebouncing(definition);
  if (debouncing !== undefined) {
    const { by, longest } = debouncing;
    return { debounce: { key: debounceKey(name, keyOf(job, name, 'debounce', by), queue), longest } };
  }
  const uniqueness = declaredUniqueness(definition);
  if (uniqueness === undefined) return undefined;
  const { by, until, for: most } = uniqueness;
  return { unique: { key: uniqueKey(name, keyOf(job, name, 'unique', by)), until, for: most } };
}

/** Undefined if its class has no lanes. @throws E_INVALID_LANE_KEY */
function laneTieOf(job: object, definition: JobDefinition): LaneTie | undefined {
  const laned = declaredLane(definition);
  if (laned === undefined) return undefined;
  const { by, running, ordered } = laned;
  return { key: laneKey(keyOf(job, definition.name, 'lane', by)), running, ordered };
}

/** The key of a lane that a call names. @throws E_INVALID_LANE_KEY */
export function checkedLane(key: unknown): string {
  const text = textOfKey(key);
  if (text === undefined) throw invalidLaneKey(undefined, 'lane', key, LONGEST_KEY);
  return text;
}

/** Empty if the option has no function that gives it. @throws E_INVALID_UNIQUE_KEY, E_INVALID_LANE_KEY */
function keyOf(
  job: object,
  name: string,
  option: 'unique' | 'debounce' | 'lane',
  by: ((job: object) => unknown) | undefined,
): string {
  if (by === undefined) return '';
  const invalid = option === 'lane' ? invalidLaneKey : invalidUniqueKey;
  let given: unknown;
  try {
    given = by(job);
  } catch (cause) {
    throw invalid(name, option, undefined, LONGEST_KEY, cause);
  }
  const text = textOfKey(given);
  if (text === undefined) throw invalid(name, option, given, LONGEST_KEY);
  return text;
}

function textOfKey(key: unknown): string | undefined {
  if (typeof key === 'number' && Number.isFinite(key)) return String(key);
  return typeof key === 'string' && key !== '' && key.length <= LONGEST_KEY && key.isWellFormed() ? key : undefined;
}

/** How one dispatch ended, for the observers that were asked before the job was encoded. Only the first call counts. */
export interface ObservedDispatch {
  /** What observers add to the payload. If two add the same field, the later one wins. */
  readonly fields: Readonly<Record<string, unknown>> | undefined;
  end(error?: unknown): void;
  /** Nobody sends the job. */
  drop(): void;
}

/** Undefined if no observer wants to know its end. */
function observe(application: Application, job: DispatchingJob): ObservedDispatch | undefined {
  const observations: DispatchObservation[] = [];
  let fields: ObservedDispatch['fields'];
  for (const observer of application.observers) {
    if (observer.dispatching === undefined) continue;
    try {
      const observation = observer.dispatching(job);
      if (observation === undefined) continue;
      observations.push(observation);
      if (observation.fields !== undefined) fields = { ...fields, ...observation.fields };
    } catch (error) {
      report(application, job, error);
    }
  }
  if (observations.length === 0) return undefined;
  const tell = (how: 'end' | 'dropped', error?: unknown): void => {
    for (const observation of observations.splice(0)) {
      try {
        observation[how]?.(error);
      } catch (thrown) {
        report(application, job, thrown);
      }
    }
  };
  return {
    fields,
    end: (error) => tell('end', error),
    drop: () => tell('dropped'),
  };
}

function report(
  application: Application,
  { name, connectionName: connection, queue }: DispatchingJob,
  error: unknown,
): void {
  application.report(error, { during: 'an observer', name, connection, queue });
}

/** Where a job goes, when, and what it counts in. */
export interface Way {
  readonly route: Route;
  readonly ties?: Ties | undefined;
  readonly retryWithin?: Seconds | undefined;
}

/**
 * Instances of classes, not object literals: V8 would allocate such literals in the old generation, where each keeps its text
 * until a full collection (docs/decisions/hot-path.md).
 */
class TimedEntry implements Entry {
  readonly payload: string;
  readonly delay: Seconds | undefined;
  readonly dueAt: Milliseconds | undefined;
  readonly ties: Ties | undefined;

  constructor(payload: string, { route: { delay, dueAt }, ties }: Way) {
    this.payload = payload;
    this.delay = dueAt === undefined && delay > 0 ? delay : undefined;
    this.dueAt = dueAt;
    this.ties = ties;
  }
}

/** A job on its way to a connection. */
export class EncodedJob implements Timed {
  /** Empty for a raw payload without an id. */
  readonly id: string;
  /** The job's name, for errors. */
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
  readonly entry: Entry;
  readonly retryWithin?: Seconds | undefined;
  /** The hooks to call around its push. Undefined if there are none. */
  readonly hooks?: Hooks | undefined;
  readonly observed?: ObservedDispatch | undefined;

  constructor(id: string, name: string, way: Way, payload: string, hooks?: Hooks, observed?: ObservedDispatch) {
    this.id = id;
    this.name = name;
    this.connection = way.route.connection;
    this.queue = way.route.queue;
    this.entry = new TimedEntry(payload, way);
    this.retryWithin = way.retryWithin;
    this.hooks = hooks;
    this.observed = observed;
  }
}
