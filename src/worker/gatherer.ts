/**
 * Gathers jobs with `together`, and calls their class once for all of them. Each job waits in its slot, with its own lease, timeout and
 * outcome. Groups are of one worker: they are called when they are full, when their first job has waited long enough, and when no other
 * job can come, because all slots of the worker wait or the worker stops.
 */
import type { Milliseconds, Timer } from '../base/clock';
import { toError } from '../base/exception-text';
import { inRootContext, type Application } from '../connections/application';
import { tokensOf } from '../container/parameters';
import { openRunScope } from '../container/opened-scope';
import { methodArguments, runInScope, type Scope } from '../container/scope';
import type { JobDefinition } from '../job/registry';
import { declaredTogether } from '../job/resolve-options';
import { HANDLE_ALL } from '../job/together';
import type { RunningJob } from './running-job';

interface Member {
  readonly job: RunningJob;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class Gatherers {
  readonly #application: Application;
  /** How many jobs can wait at a time. */
  readonly #slots: number;
  readonly #groups = new Map<JobDefinition, Group>();
  /** Classes whose groups can never be full here, as the log has said. */
  readonly #told = new Set<JobDefinition>();

  constructor(application: Application, slots: number) {
    this.#application = application;
    this.#slots = slots;
  }

  /** Resolves when the class has handled the job together with others. @throws what it threw; why the job was aborted before that */
  async handle(job: RunningJob): Promise<void> {
    const definition = job.definition!;
    const { most, wait } = declaredTogether(definition)!;
    // A suspect takes no neighbours with it.
    const isAlone = job.isApart || this.#slots < 2 || job.stopping.aborted;
    if (isAlone) return new Group(this.#application, definition, 1, 0).join(job);
    if (most > this.#slots && !this.#told.has(definition)) {
      this.#told.add(definition);
      const text = `${definition.name} gathers up to ${most} jobs, but its worker has ${this.#slots} slots, so that its groups have no more: raise concurrency to ${most}, or lower most.`;
      this.#application.logger.warn({ job: definition.name, most, concurrency: this.#slots }, text);
    }
    let group = this.#groups.get(definition);
    if (group === undefined || group.isCalled) {
      group = new Group(this.#application, definition, Math.min(most, this.#slots), wait * 1000);
      this.#groups.set(definition, group);
    }
    const handled = group.join(job);
    if (this.#waiting >= this.#slots) for (const each of this.#groups.values()) each.call();
    return handled;
  }

  get #waiting(): number {
    let count = 0;
    for (const group of this.#groups.values()) count += group.isCalled ? 0 : group.size;
    return count;
  }
}

/** Jobs of one class that wait for their call. What a waiting job tells, because it stops or was aborted. */
export class Group {
  readonly #application: Application;
  readonly #definition: JobDefinition;
  readonly #most: number;
  readonly #wait: Milliseconds;
  readonly #members = new Map<RunningJob, Member>();
  #timer: Timer | undefined;
  isCalled = false;

  constructor(application: Application, definition: JobDefinition, most: number, wait: Milliseconds) {
    this.#application = application;
    this.#definition = definition;
    this.#most = most;
    this.#wait = wait;
  }

  get size(): number {
    return this.#members.size;
  }

  join(job: RunningJob): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#members.set(job, { job, resolve, reject });
      job.group = this;
      this.#timer ??= this.#application.clock.after(this.#wait, () => this.call(), true);
      if (this.size >= this.#most) this.call();
    });
  }

  /** The job was aborted. Before the call it only leaves; afterwards its run decides how long it waits. */
  leave(job: RunningJob, reason: Error): void {
    const member = this.isCalled ? undefined : this.#members.get(job);
    if (member === undefined) return;
    this.#members.delete(job);
    job.group = undefined;
    // It does not count as handled: it goes back as if it had never begun, unless that was its timeout.
    member.reject(reason);
  }

  call(): void {
    if (this.isCalled) return;
    this.isCalled = true;
    this.#timer?.cancel();
    const members = [...this.#members.values()];
    // Middleware may have given each job the context of its tenant, and the call is for all of them.
    const begin = (): Promise<void> => this.#call(members);
    if (members.length > 0) void (this.#most === 1 ? begin() : inRootContext(begin, this.#application));
  }

  async #call(members: readonly Member[]): Promise<void> {
    const { target } = this.#definition;
    const application = this.#application;
    const [{ job: first }] = members as [Member];
    let scope: Scope | undefined;
    let thrown: Error | undefined;
    try {
      const tokens = tokensOf(target, 'job', [HANDLE_ALL]);
      const within = (scope = await openRunScope(application.container, {
        job: undefined,
        tokens,
        handler: undefined,
      }));
      const jobs = members.map(({ job }) => job.instance!);
      await runInScope(
        within,
        () => {
          const handleAll = Reflect.get(target, HANDLE_ALL) as (...given: readonly unknown[]) => unknown;
          return Reflect.apply(handleAll, target, methodArguments(target, HANDLE_ALL, within, [jobs]));
        },
        first,
      );
    } catch (error) {
      thrown = toError(error);
    }
    try {
      await scope?.dispose();
    } catch (error) {
      application.report(error, { job: first, during: 'disposing what was injected' });
    }
    // What a job has said of itself stands. An error that no job takes over is reported by the first.
    const failing = thrown === undefined ? [] : members.filter(({ job }) => job.ending === undefined);
    const taking = thrown !== undefined && failing.length === 0 ? [members[0]!] : failing;
    for (const member of members) {
      member.job.group = undefined;
      if (taking.includes(member)) member.reject(thrown!);
      else member.resolve();
    }
  }
}
