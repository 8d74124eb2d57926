/** Nest itself, which is the application's own package: Onqueue does not bring it along. */
import { nestMissing } from './errors';

function load(name: string): unknown {
  try {
    return require(name);
  } catch (cause) {
    throw nestMissing(name, cause);
  }
}

export const common = load('@nestjs/common') as typeof import('@nestjs/common');
export const core = load('@nestjs/core') as typeof import('@nestjs/core');
