/** Which folder may know of which. Each rule prints its reason; type-only imports count too. */

/** From the ground up: each folder knows only those before it, so there are no circles. Imports of types count. */
const layers = [
  ['base', 'base/'],
  ['container', 'container/'],
  ['job', 'job/'],
  ['payload', 'payload/'],
  ['contract', 'connections/(?!built-in)[^/]+[.]ts'],
  ['kit', 'connections/kit/'],
  ['operations', 'operations/'],
  ['dispatch', 'dispatch/'],
  ['schedule', 'schedule/'],
  ['application', 'application/'],
  ['worker', 'worker/'],
  ['limits', 'limits/'],
  ['drivers', 'connections/(?!kit/)[^/]+/'],
  ['built-in', 'connections/built-in[.]ts'],
  ['testing', 'testing(/|[.]ts)'],
  ['dashboard', 'dashboard/'],
  ['cli', 'cli/'],
];

const layerRules = layers.slice(0, -1).map(([name, path], index) => {
  const above = layers.slice(index + 1);
  return {
    name: `${name}-knows-only-what-is-below`,
    comment: `${name} must not know of ${above.map(([name]) => name).join(', ')}: each folder can be read and tested without what uses it.`,
    severity: 'error',
    from: { path: `^src/${path}` },
    to: { path: `^src/(${above.map(([, path]) => path).join('|')})` },
  };
});

/** Parts of their own: a program loads each by its subpath, and only if it uses it. */
const subpaths = ['entities', 'laravel', 'nest', 'otel'];

const apart = (folder) => ({
  name: `${folder}-knows-only-public-types`,
  comment: `src/${folder} may import what src/index.ts exports, and define errors.`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: { path: '^src/', pathNot: `^src/(${folder}/|index\\.ts$|base/onqueue-error\\.ts$)` },
});

const notLoaded = {
  name: 'nobody-loads-a-subpath',
  comment: 'A program that does not import a subpath must not pay for it.',
  severity: 'error',
  from: { path: '^src/', pathNot: `^src/(${subpaths.join('|')})/` },
  to: { path: `^src/(${subpaths.join('|')})/` },
};

/** A package that one folder wraps; all others speak to the wrapper. */
const only = (packages, folder, reason) => ({
  name: `${packages[0]}-only-in-${folder.replaceAll('/', '-')}`,
  comment: `${packages.join(', ')} is imported in src/${folder} alone: ${reason}`,
  severity: 'error',
  from: { pathNot: `^src/${folder}/` },
  to: { path: `node_modules/(${packages.join('|')})/` },
});

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...layerRules,
    ...subpaths.map(apart),
    notLoaded,
    {
      name: 'nobody-imports-the-public-surface',
      comment: 'src/index.ts and src/composition.ts put everything together; to import them from below is a cycle.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: `^src/(index|composition)\\.ts$|^src/(testing|dashboard|cli|${subpaths.join('|')})/`,
      },
      to: { path: '^src/(index|composition)\\.ts$' },
    },
    {
      name: 'drivers-do-not-know-each-other',
      comment: 'A driver must work, and be removable, without the others.',
      severity: 'error',
      from: { path: '^src/connections/(?!kit/)([^/]+)/' },
      to: { path: '^src/connections/[^/]+/', pathNot: '^src/connections/($1|kit)/' },
    },
    {
      name: 'no-driver-runs-jobs',
      comment: 'A connection never sees a job class. `sync` alone runs jobs, through the one Executor.',
      severity: 'error',
      from: { path: '^src/connections/(?!sync/)' },
      to: { path: '^src/worker/' },
    },
    only(['ioredis'], 'connections/redis', 'its traps (repeated calls, offline queues) are handled there once.'),
    only(['libsql'], 'connections/sql', 'it aborts the process when it is bound a value it does not know.'),
    only(['pg', 'mysql2'], 'connections/sql', 'they are optional, and their errors and rows are read there once.'),
    only(
      ['@aws-sdk/client-sqs'],
      'connections/sqs',
      'it is optional, and what may be asked twice is decided there once.',
    ),
    only(['@nestjs/common', '@nestjs/core'], 'nest', 'it is the package of the application, and optional.'),
    only(['@opentelemetry/api'], 'otel', 'a program without traces must not load it.'),
    only(['tsyringe'], 'container', 'any other container can stand in for it.'),
    only(['class-transformer'], 'payload', 'the codec alone decides what travels.'),
    only(['croner'], 'schedule', 'what clocks that change do to a time is decided there once.'),
    only(['commander'], 'cli', 'a program that only dispatches must not load the command line.'),
    {
      name: 'no-development-package',
      comment: 'What src imports must be installed with the package.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm-peer'] },
    },
    {
      name: 'no-unresolved',
      comment: 'It does not exist.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    // TypeScript 7 has no compiler in JavaScript; swc reads the same imports, those of types among them.
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['require', 'node', 'default'],
    },
  },
};
