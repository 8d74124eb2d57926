/** One dispatch, as observers see it: asked before the job is encoded, and told how it ended. */
import type { Application } from '../connections/application';
import type { DispatchingJob, DispatchObservation } from '../connections/observer';

type Observed = Pick<Application, 'observers' | 'report'>;

export class ObservedDispatch {
  readonly #application: Observed;
  readonly #job: DispatchingJob;
  readonly #observations: readonly DispatchObservation[];
  #isOver = false;

  private constructor(application: Observed, job: DispatchingJob, observations: readonly DispatchObservation[]) {
    this.#application = application;
    this.#job = job;
    this.#observations = observations;
  }

  /** Undefined: nobody wants to hear more of it. */
  static of(application: Observed, job: DispatchingJob): ObservedDispatch | undefined {
    let observations: DispatchObservation[] | undefined;
    for (const observer of application.observers) {
      if (observer.dispatching === undefined) continue;
      try {
        const observation = observer.dispatching(job);
        if (observation !== undefined) (observations ??= []).push(observation);
      } catch (error) {
        report(application, job, error);
      }
    }
    return observations && new ObservedDispatch(application, job, observations);
  }

  /** What they add to its payload. */
  get fields(): Readonly<Record<string, unknown>> | undefined {
    let fields: Record<string, unknown> | undefined;
    for (const one of this.#observations) if (one.fields !== undefined) fields = { ...fields, ...one.fields };
    return fields;
  }

  /** The first call counts. */
  end(error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const observation of this.#observations) {
      try {
        observation.end?.(error);
      } catch (thrown) {
        report(this.#application, this.#job, thrown);
      }
    }
  }
}

function report(
  application: Observed,
  { name, connectionName: connection, queue }: DispatchingJob,
  error: unknown,
): void {
  application.report(error, { during: 'an observer', name, connection, queue });
}
