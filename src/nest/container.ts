/** Nest as the container of jobs: what is static is found at once, what is scoped to requests is made for each run. */
import type { ContextId, ModuleRef } from '@nestjs/core';
import type { Container, RunContainer } from '../index';
import { common, core } from './nest';

type Token = Parameters<ModuleRef['get']>[0];

/** Finds what is exported by no module too: a job belongs to none. */
const ANYWHERE = { strict: false };

/** An application of Nest, or the reference to one of its modules. */
export type NestApplication = Pick<ModuleRef, 'get'>;

/**
 * The providers of a Nest application, for `container` of the configuration. Those that are request-scoped or transient are made for
 * each run: its `JobContext` is injected as `REQUEST`. Handlers and listeners that are providers are made by Nest.
 */
export function nestContainer(application: NestApplication): Container {
  let found: ModuleRef | undefined;
  const nest = (): ModuleRef =>
    (found ??= application instanceof core.ModuleRef ? application : application.get<ModuleRef>(core.ModuleRef));
  const scopes = new Map<unknown, Scope>();
  const scopeOf = (token: unknown): Scope => {
    let scope = scopes.get(token);
    if (scope === undefined) scopes.set(token, (scope = readScope(nest(), token)));
    return scope;
  };
  const resolve = (token: unknown): unknown => nest().get(token as Token, ANYWHERE);

  const open = ({ job }: { readonly job: unknown }): RunContainer => {
    let id: ContextId | undefined;
    const make = (token: unknown): unknown => {
      if (id === undefined) {
        id = core.ContextIdFactory.create();
        nest().registerRequestByContextId(job, id);
      }
      return nest().resolve(token as Token, id, ANYWHERE);
    };
    const get = (token: unknown): unknown => (scopeOf(token) === 'scoped' ? make(token) : resolve(token));
    return {
      resolve: get,
      construct: (handler) => (scopeOf(handler) === 'unknown' ? undefined : get(handler)),
    };
  };
  return { resolve, open };
}

/** Unknown: no provider of the application. */
type Scope = 'static' | 'scoped' | 'unknown';

function readScope(nest: ModuleRef, token: unknown): Scope {
  try {
    return nest.introspect(token as string).scope === common.Scope.DEFAULT ? 'static' : 'scoped';
  } catch {
    return 'unknown';
  }
}
