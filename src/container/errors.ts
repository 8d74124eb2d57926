/** What can be wrong with injection: a declaration that cannot be kept, or a dependency that cannot be made. */
import { relativeFile } from '../job/declared-in';
import { valueText } from '../base/value-text';
import { OnqueueError } from '../base/onqueue-error';

/** A parameter, as errors name it. */
export interface ParameterPlace {
  readonly class: string;
  /** `constructor` for a constructor's. */
  readonly method: string;
  readonly position: number;
  /** Where the source tells it. */
  readonly parameter: string | undefined;
  readonly file: string | undefined;
}

function at({ class: name, method, position, parameter, file }: ParameterPlace): string {
  const what = method === 'constructor' ? `${name}'s constructor` : `${name}.${method}`;
  return `${what}, parameter ${position}${parameter === undefined ? '' : ` (${parameter})`}${file === undefined ? '' : ` in ${relativeFile(file)}`}`;
}

export function tokenText(token: unknown): string {
  if (typeof token === 'function') return token.name === '' ? 'a class without a name' : token.name;
  return valueText(token);
}

// Plain JavaScript and standard decorators know no decorators of parameters.
const WITHOUT_DECORATOR = ', or take it with this.make(Mailer) in handle() (in a handler: inject(Mailer) in a field)';

/** A parameter of a run that nothing would fill. */
export class UninjectedParameterError extends OnqueueError<ParameterPlace> {
  readonly code = 'E_UNINJECTED_PARAMETER';

  constructor(place: ParameterPlace) {
    super(
      `${at(place)} has no @Inject(), so nothing would fill it. Write @Inject(Mailer), imported from 'onqueue'${WITHOUT_DECORATOR}.`,
      place,
    );
  }
}

/** TypeScript emitted no class as the type of a parameter that bears a bare `@Inject()`. */
export class MissingTypeError extends OnqueueError<ParameterPlace & { readonly emitted: string | undefined }> {
  readonly code = 'E_MISSING_TYPE';

  constructor(place: ParameterPlace, emitted: string | undefined) {
    const why =
      emitted === undefined || emitted === 'Object'
        ? 'TypeScript emitted no type (tsx, esbuild, an interface or an import type, or two files that import each other)'
        : `its type is ${emitted}, which no container makes`;
    super(
      `${at(place)}: ${why}. Write @Inject(Mailer)${place.method === 'constructor' ? ', or take it with inject(Mailer) in a field' : WITHOUT_DECORATOR}.`,
      { ...place, emitted },
    );
  }
}

/** `@Inject(undefined)`: the token's file was still being loaded. */
export class UndefinedTokenError extends OnqueueError<{ readonly subject: string }> {
  readonly code = 'E_UNDEFINED_TOKEN';

  constructor(subject: string) {
    super(
      `${subject}: the token is undefined. Two files import each other: move what both need into a third, or use a name as token.`,
      { subject },
    );
  }
}

/** `@Inject()` on a parameter that is not injected. */
export class MisplacedInjectError extends OnqueueError<ParameterPlace> {
  readonly code = 'E_MISPLACED_INJECT';

  constructor(place: ParameterPlace, reason: string) {
    super(`${at(place)}: @Inject() stands in the wrong place. ${reason}`, place);
  }
}

/** A decorator of another library where ours was meant. */
export class ForeignDecoratorError extends OnqueueError<{
  readonly class: string;
  readonly method: string;
  readonly library: string;
}> {
  readonly code = 'E_FOREIGN_DECORATOR';

  constructor(name: string, method: string, library: string, decorator: string) {
    const where = method === 'constructor' ? `${name}'s constructor` : `${name}.${method}`;
    super(`${where}: this is ${library}'s ${decorator}; import Inject from 'onqueue'.`, {
      class: name,
      method,
      library,
    });
  }
}

/** The container could not make a dependency; the cause is its own error. */
export class ResolutionError extends OnqueueError<{ readonly subject: string; readonly token: string }> {
  readonly code = 'E_RESOLUTION';

  constructor(subject: string, token: unknown, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(
      `${subject}: ${tokenText(token)} could not be resolved. ${reason}${remedyFor(reason)}`,
      {
        subject,
        token: tokenText(token),
      },
      { cause },
    );
  }

  static at(place: ParameterPlace, token: unknown, cause: unknown): ResolutionError {
    return new ResolutionError(at(place), token, cause);
  }
}

// tsyringe names class, parameter and position, but not what to do.
function remedyFor(reason: string): string {
  const unknown = /TypeInfo not known for "([^"]*)"/.exec(reason)?.[1];
  if (unknown !== undefined) {
    return `\nThe constructor of ${unknown} has parameters: put @injectable() above class ${unknown}, or register an instance of it. (tsx and esbuild emit no types: there write @Inject(Token) at each parameter, too.)`;
  }
  const unregistered = /unregistered dependency token: "([^"]*)"/.exec(reason)?.[1];
  if (unregistered !== undefined) return `\nRegister it: container.register('${unregistered}', …).`;
  if (reason.includes('undefined constructor')) {
    return '\nTwo files import each other, or the type is an import type: write @Inject(Token), or delay(() => Mailer).';
  }
  return '';
}

/** What was given as `container` is none. */
export class InvalidContainerError extends OnqueueError<{ readonly container: string }> {
  readonly code = 'E_INVALID_CONTAINER';

  constructor(container: unknown) {
    super(
      `container: ${valueText(container)} is no container. Give a container of tsyringe, or { resolve: (token, scope) => … }.`,
      { container: valueText(container) },
    );
  }
}

/** `inject()` or `make()` was called while no job runs. */
export class OutsideRunError extends OnqueueError<{ readonly token: string }> {
  readonly code = 'E_OUTSIDE_RUN';

  constructor(token: unknown) {
    super(
      `inject(${tokenText(token)}) was called outside of a run. Call it inside handle(), or in a field initialiser of a handler class.`,
      { token: tokenText(token) },
    );
  }
}

/** What a run made could not be disposed of after it. */
export class DisposeError extends OnqueueError<{ readonly classes: readonly string[] }> {
  readonly code = 'E_DISPOSE';

  constructor(failures: readonly { readonly name: string; readonly error: unknown }[]) {
    const classes = failures.map(({ name }) => name);
    super(
      `dispose() of ${classes.join(', ')} threw after the run: ${failures.map(({ error }) => String(error)).join('; ')}`,
      { classes },
      { cause: failures[0]?.error },
    );
  }
}
