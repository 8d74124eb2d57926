/** A run's scope on the user's own container, which is asked for everything that the run did not register. */
import { types } from 'node:util';
import type { Class } from '../base/class';
import type { Container, Scope } from './container';
import { disposeOf } from './disposal';
import { foreignDecorator, placeText, resolutionFailed } from './errors';
import { constructorInjections, placeOf } from './parameters';

export class GivenScope implements Scope {
  readonly #container: Container;
  readonly #values = new Map<unknown, unknown>();
  #made: object[] = [];

  constructor(container: Container) {
    this.#container = container;
  }

  resolve(token: unknown): unknown {
    if (this.#values.has(token)) return this.#values.get(token);
    const value = this.#container.resolve(token, this);
    if (value === undefined) throw new TypeError('The container of the configuration gave undefined for it.');
    // Not everything with a then(): a service may have one, such as a query that runs when awaited.
    if (types.isPromise(value)) {
      // Nobody else handles its rejection.
      value.catch(() => undefined);
      throw new TypeError(
        'The container of the configuration gave a promise for it, but must answer at once: make it before the worker starts, or inject what makes it.',
      );
    }
    return value;
  }

  // Created here, anew for each run: the container need only know what the handlers depend on.
  construct(handler: Class): object {
    const values = constructorInjections(handler).map(({ position, token }) => {
      try {
        return this.resolve(plainToken(handler, token));
      } catch (error) {
        throw resolutionFailed(placeText(placeOf(handler, 'constructor', position)), token, error);
      }
    });
    const made = Reflect.construct(handler, values) as object;
    this.#made.push(made);
    return made;
  }

  register(token: unknown, value: unknown): void {
    this.#values.set(token, value);
  }

  // The container disposes of what it made.
  dispose(): Promise<void> | undefined {
    const made = this.#made.toReversed();
    this.#made = [];
    return made.length === 0 ? undefined : disposeOf(made);
  }
}

// tsyringe's decorators wrap the token. Those that ask for more than a token need tsyringe itself.
function plainToken(handler: Class, token: unknown): unknown {
  if (typeof token !== 'object' || token === null || !('token' in token)) return token;
  if (('multiple' in token && token.multiple === true) || 'transform' in token) {
    throw foreignDecorator(handler.name, 'constructor', 'tsyringe', 'injectAll or a transform');
  }
  return token.token;
}
