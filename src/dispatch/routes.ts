/** Where jobs go that choose nothing themselves, by class: `Queue.route(SendMail, { queue: 'mail' })`. */
import type { Class } from '../base/class';
import { invalidJobOption } from '../job/errors';
import { checkQueueName } from '../job/option-kinds';
import { registry } from '../job/registry';

export interface JobRoute {
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
}

const KNOWN = ['connection', 'queue'];

export class Routes {
  readonly #routes = new Map<Class, JobRoute>();
  /** There is a route: asked for each dispatch. */
  areSet = false;

  /**
   * Applies to a class and its subclasses; the last call for a class counts.
   *
   * @param checkConnection throws if there is no such connection
   * @throws E_INVALID_JOB_OPTION, E_INVALID_QUEUE_NAME
   */
  set(job: Class, route: JobRoute, checkConnection?: (name: string) => void): void {
    if (typeof job !== 'function') throw invalidJobOption('Queue.route()', job, 'Give the class of a job first.');
    const subject = `Queue.route(${job.name})`;
    if (typeof route !== 'object' || route === null || Object.keys(route).some((key) => !KNOWN.includes(key))) {
      throw invalidJobOption(subject, route, 'Give { connection, queue }, or one of the two.');
    }
    const { connection, queue } = route;
    if (connection !== undefined && (typeof connection !== 'string' || connection === '')) {
      throw invalidJobOption(`the connection of ${subject}`, connection, 'Name a connection.');
    }
    if (queue !== undefined) checkQueueName(queue, `the queue of ${subject}`);
    if (connection !== undefined) checkConnection?.(connection);
    this.#routes.set(registry().jobOf(job)?.target ?? job, { connection, queue });
    this.areSet = true;
  }

  /** The connections named by routes, each with the class that is sent there. */
  *connections(): Iterable<{ readonly job: Class; readonly connection: string }> {
    for (const [job, { connection }] of this.#routes) if (connection !== undefined) yield { job, connection };
  }

  /** The route of a class: its own before those of its parents, separately for connection and queue. */
  of(job: Class): JobRoute {
    let { connection, queue }: JobRoute = {};
    for (let target: unknown = job; typeof target === 'function'; target = Object.getPrototypeOf(target)) {
      const route = this.#routes.get(target as Class);
      connection ??= route?.connection;
      queue ??= route?.queue;
    }
    return { connection, queue };
  }
}
