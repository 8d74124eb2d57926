/**
 * What a job that extends `Job` inherits: `this.job` with its shortcuts, and the builder calls of a single instance.
 *
 * None of this is stored as a property of the instance: own properties are data, and travel.
 */
import type { OnqueueError } from '../base/onqueue-error';
import { inject } from '../container/scope';
import { choose, chosenOf, contextOf } from './beside-instance';
import type { Class } from './definition';
import { checkDelay, type Delay } from './duration';
import { invalidJobOption, notRunning, reservedProperty } from './errors';
import type { JobContext } from './job-context';
import type { Middleware } from './middleware';
import { checkQueueName } from './queue-name';
import { registry } from './registry';

export class RunnableJob {
  get job(): JobContext {
    return running(this, 'job');
  }

  set job(_value: unknown) {
    refuse(this, 'job');
  }

  get id(): string {
    return running(this, 'id').id;
  }

  // An own `id` is data, and the most common field of all.
  set id(value: unknown) {
    Object.defineProperty(this, 'id', { value, writable: true, enumerable: true, configurable: true });
  }

  release(delay?: Delay): void {
    running(this, 'release()').release(delay);
  }

  fail(error?: Error | string): void {
    running(this, 'fail()').fail(error);
  }

  delete(): void {
    running(this, 'delete()').delete();
  }

  appendToChain(...jobs: readonly object[]): void {
    running(this, 'appendToChain()').appendToChain(...jobs);
  }

  prependToChain(...jobs: readonly object[]): void {
    running(this, 'prependToChain()').prependToChain(...jobs);
  }

  make(token: unknown): unknown {
    running(this, 'make()');
    return inject(token as Class);
  }

  onConnection(connection: string): this {
    if (typeof connection !== 'string' || connection === '') {
      throw invalidJobOption(`onConnection() of ${nameOf(this)}`, connection, 'Name a connection.');
    }
    choose(this, { connection });
    return this;
  }

  onQueue(queue: string): this {
    checkQueueName(queue, `onQueue() of ${nameOf(this)}`);
    choose(this, { queue });
    return this;
  }

  delay(delay: Delay): this {
    checkDelay(delay, `delay() of ${nameOf(this)}`);
    choose(this, { delay });
    return this;
  }

  withoutDelay(): this {
    choose(this, { delay: 0 });
    return this;
  }

  through(...middleware: readonly Middleware[]): this {
    choose(this, { middleware: [...(chosenOf(this).middleware ?? []), ...middleware] });
    return this;
  }
}

for (const member of ['attempts', 'signal', 'fence'] as const)
  Object.defineProperty(RunnableJob.prototype, member, {
    get(this: RunnableJob) {
      return running(this, member)[member];
    },
    set(this: RunnableJob) {
      refuse(this, member);
    },
    configurable: true,
  });

/** The members that an own property of the same name would hide. `id` may be hidden: it is data. */
export const MEMBERS: ReadonlySet<string> = new Set(
  Object.getOwnPropertyNames(RunnableJob.prototype).filter((name) => name !== 'id'),
);

export function extendsJob(target: Class): boolean {
  return target.prototype instanceof RunnableJob;
}

export function hiddenMember(job: string, member: string, file: string | undefined): OnqueueError {
  const meanings = `On a job, this.${member} belongs to the running job; give your data another name.`;
  return reservedProperty(job, member, meanings, file);
}

function nameOf(job: object): string {
  return job.constructor.name;
}

function running(job: object, member: string): JobContext {
  const context = contextOf(job);
  if (context === undefined) throw notRunning(nameOf(job), member);
  return context;
}

function refuse(job: object, member: string): never {
  throw hiddenMember(nameOf(job), member, registry().definitionOf(job.constructor)?.file);
}
