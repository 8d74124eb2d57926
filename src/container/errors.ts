/** Errors of injection: a declaration that cannot work, or a dependency that cannot be made. */
import { defineError } from '../base/onqueue-error';
import { valueText } from '../base/text';
import { relativeFile } from '../base/class';

/** A parameter, for errors. */
export interface ParameterPlace {
  readonly class: string;
  /** `constructor` for a constructor's. */
  readonly method: string;
  readonly position: number;
  /** Its name, if the source tells. */
  readonly parameter: string | undefined;
  readonly file: string | undefined;
}

export function placeText({ class: name, method, position, parameter, file }: ParameterPlace): string {
  const shownName = parameter === undefined ? '' : ` (${parameter})`;
  const shownFile = file === undefined ? '' : ` in ${relativeFile(file)}`;
  return `${methodText(name, method)}, parameter ${position}${shownName}${shownFile}`;
}

function methodText(name: string, method: string): string {
  return method === 'constructor' ? `${name}'s constructor` : `${name}.${method}`;
}

export function tokenText(token: unknown): string {
  if (typeof token === 'function') return token.name === '' ? 'a class without a name' : token.name;
  return valueText(token);
}

/** For plain JavaScript and standard decorators, which cannot decorate parameters. */
const WITHOUT_DECORATOR = ', or take it with this.make(Mailer) in handle() (in a handler: inject(Mailer) in a field)';

export const uninjectedParameter = defineError('E_UNINJECTED_PARAMETER', (place: ParameterPlace) => ({
  message: `${placeText(place)} has no @Inject(), so nothing would fill it. Write @Inject(Mailer), imported from 'onqueue'${WITHOUT_DECORATOR}.`,
  facts: place,
}));

/** TypeScript emitted no class as the type of a parameter with a bare `@Inject()`. */
export const missingType = defineError('E_MISSING_TYPE', (place: ParameterPlace, emitted: string | undefined) => {
  const why =
    emitted === undefined || emitted === 'Object'
      ? 'TypeScript emitted no type (no emitDecoratorMetadata, tsx, esbuild, an interface or an import type, or two files that import each other)'
      : `its type is ${emitted}, which no container makes`;
  const remedy = place.method === 'constructor' ? ', or take it with inject(Mailer) in a field' : WITHOUT_DECORATOR;
  return { message: `${placeText(place)}: ${why}. Write @Inject(Mailer)${remedy}.`, facts: { ...place, emitted } };
});

/** `@Inject(undefined)`: the token's file was still being loaded. */
export const undefinedToken = defineError('E_UNDEFINED_TOKEN', (subject: string) => ({
  message: `${subject}: the token is undefined. Two files import each other: move what both need into a third, or use a name as token.`,
  facts: { subject },
}));

export const misplacedInject = defineError('E_MISPLACED_INJECT', (place: ParameterPlace, reason: string) => ({
  message: `${placeText(place)}: @Inject() stands in the wrong place. ${reason}`,
  facts: place,
}));

/** A decorator of another library in place of ours. */
export const foreignDecorator = defineError(
  'E_FOREIGN_DECORATOR',
  (name: string, method: string, library: string, decorator: string) => ({
    message: `${methodText(name, method)}: this is ${library}'s ${decorator}; import Inject from 'onqueue'.`,
    facts: { class: name, method, library },
  }),
);

/** The container could not make a dependency; the cause is its own error. */
export const resolutionFailed = defineError('E_RESOLUTION', (subject: string, token: unknown, cause: unknown) => {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return {
    message: `${subject}: ${tokenText(token)} could not be resolved. ${reason}${remedyFor(reason)}`,
    facts: { subject, token: tokenText(token) },
    cause,
  };
});

/** tsyringe names class, parameter and position, but gives no remedy. */
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

export const invalidContainer = defineError('E_INVALID_CONTAINER', (container: unknown) => ({
  message: `container: ${valueText(container)} is not a container. Give a container of tsyringe, or { resolve: (token, scope) => … }.`,
  facts: { container: valueText(container) },
}));

/** `inject()` or `make()` was called while no job runs. */
export const outsideRun = defineError('E_OUTSIDE_RUN', (token: unknown) => ({
  message: `inject(${tokenText(token)}) was called outside of a run. Call it inside handle(), or in a field initialiser of a handler class.`,
  facts: { token: tokenText(token) },
}));

/** An object made for a run could not be disposed of after it. */
export const disposeFailed = defineError(
  'E_DISPOSE',
  (failures: readonly { readonly name: string; readonly error: unknown }[]) => {
    const classes = failures.map(({ name }) => name);
    const reasons = failures.map(({ error }) => String(error));
    return {
      message: `dispose() of ${classes.join(', ')} threw after the run: ${reasons.join('; ')}`,
      facts: { classes },
      cause: failures[0]?.error,
    };
  },
);
