/**
 * Compiles each module once in a Jest worker, and not again for each test file.
 *
 * Every test file has a context of its own, and Jest compiles all modules anew in each: that took a third of the time of most files.
 * A script of Node.js is bound to no context. So one is kept for each module and run in the context of each file, and V8 keeps
 * with it what it has compiled of the functions inside.
 */
import vm, { type CompileFunctionOptions, type Context, Script } from 'node:vm';

interface Shared {
  readonly source: string;
  readonly script: Script;
}

const scripts = new Map<string, Shared>();
const compile = vm.compileFunction;

/** What Jest does for a module: others call `compileFunction` without a context, or with parameters of their own. */
const isModule = (parameters: readonly string[] | undefined, options: CompileFunctionOptions): boolean =>
  parameters?.[0] === 'module' && options.parsingContext !== undefined && options.filename !== undefined;

/** Without Jest's callback for `import()`: it would keep the context of a file alive, and only says that Jest has none. */
function scriptOf(source: string, parameters: readonly string[], filename: string): Script {
  const known = scripts.get(filename);
  if (known?.source === source) return known.script;
  const head = `(function (${parameters.join(', ')}) {`;
  // The offset keeps the places of errors: the first line is the module's own.
  const script = new Script(`${head}${source}\n})`, { filename, columnOffset: -head.length });
  scripts.set(filename, { source, script });
  return script;
}

/** Call it before Jest compiles the first module of a file. */
export function shareScripts(): void {
  vm.compileFunction = (source, parameters, options = {}) => {
    if (!isModule(parameters, options)) return compile(source, parameters, options);
    return scriptOf(source, parameters!, options.filename!).runInContext(options.parsingContext as Context);
  };
}
