/** A job on its way to a connection. */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Entry } from '../connections/contract';
import type { Timed } from '../connections/entries';
import type { Hooks } from '../job/hooks';
import type { Route } from '../job/options';
import type { Ties } from '../payload/ties';
import type { ObservedDispatch } from './observed-dispatch';

export interface EncodedJob extends Timed {
  /** Empty for a raw payload without an id. */
  readonly id: string;
  /** The job's name, for errors. */
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
  /** The hooks to call around its push. Undefined if there are none. */
  readonly hooks?: Hooks | undefined;
  readonly observed?: ObservedDispatch | undefined;
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

export class RoutedJob implements EncodedJob {
  readonly id: string;
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
  readonly entry: Entry;
  readonly retryWithin: Seconds | undefined;
  readonly hooks: Hooks | undefined;
  readonly observed: ObservedDispatch | undefined;

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
