/** One dispatch as observers see it: asked before the job is encoded, and told how it ended. */
import type { Application, DispatchingJob, DispatchObservation } from '../connections/application';

type Observed = Pick<Application, 'observers' | 'report'>;

export class ObservedDispatch {
  readonly #application: Observed;
  readonly #job: DispatchingJob;
  readonly #observation: DispatchObservation;
  /** The remaining observers' part. */
  readonly #others: ObservedDispatch | undefined;
  #isOver = false;

  private constructor(
    application: Observed,
    job: DispatchingJob,
    observation: DispatchObservation,
    others: ObservedDispatch | undefined,
  ) {
    this.#application = application;
    this.#job = job;
    this.#observation = observation;
    this.#others = others;
  }

  /** Undefined if no observer wants to know its end. */
  static of(application: Observed, job: DispatchingJob): ObservedDispatch | undefined {
    let observed: ObservedDispatch | undefined;
    for (const observer of application.observers) {
      if (observer.dispatching === undefined) continue;
      try {
        const observation = observer.dispatching(job);
        if (observation !== undefined) observed = new ObservedDispatch(application, job, observation, observed);
      } catch (error) {
        report(application, job, error);
      }
    }
    return observed;
  }

  /** The fields that observers add to the payload. If two add the same field, the later one wins. */
  get fields(): Readonly<Record<string, unknown>> | undefined {
    const { fields } = this.#observation;
    const others = this.#others?.fields;
    return fields === undefined || others === undefined ? (fields ?? others) : { ...others, ...fields };
  }

  /** Only the first call counts. */
  end(error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#others?.end(error);
    try {
      this.#observation.end?.(error);
    } catch (thrown) {
      report(this.#application, this.#job, thrown);
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
