/** The texts of the files that `init` and `make:job` write. */
import { posix } from 'node:path';

/** What a project is written in. */
export interface Language {
  readonly isTyped: boolean;
  /** ES modules, as package.json says. */
  readonly isModule: boolean;
  readonly ending: 'ts' | 'js';
}

/** `SendWelcome` in `src/jobs` is `src/jobs/send-welcome.ts`. */
export function fileIn(folder: string, name: string, { ending }: Language): string {
  const words = name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '-');
  return posix.join(folder, `${words.toLowerCase()}.${ending}`);
}

export function jobText(name: string, language: Language): string {
  if (language.isTyped)
    return `import { Job } from 'onqueue';

@Job({ tries: 3, backoff: '10s', timeout: '1m' })
export class ${name} extends Job {
  // What the constructor takes is data, and travels to the worker.
  constructor(readonly email: string) {
    super();
  }

  async handle() {
    console.log(\`${name}: \${this.email}\`);
  }
}
`;
  return `${imported('{ Job }', 'onqueue', language)}

${language.isModule ? `export const ${name}` : `exports.${name}`} = Job({ tries: 3, backoff: '10s', timeout: '1m' })(
  class ${name} extends Job {
    // What the constructor takes is data, and travels to the worker.
    constructor(email) {
      super();
      this.email = email;
    }

    async handle() {
      console.log(\`${name}: \${this.email}\`);
    }
  },
);
`;
}

/** @param file that of its first job */
export function configText(job: string, file: string, language: Language): string {
  return `${imported('{ defineConfig }', 'onqueue', language)}
${imported(`{ ${job} }`, from('.', file), language)}

const url = process.env${language.isTyped ? "['REDIS_URL']" : '.REDIS_URL'};
// Without this, a server that lacks REDIS_URL would store its jobs in a file that nobody reads.
if (url === undefined && process.env${language.isTyped ? "['NODE_ENV']" : '.NODE_ENV'} === 'production') throw new Error('REDIS_URL is not set.');

${isCommon(language) ? 'module.exports =' : 'export default'} defineConfig({
  connections: {
    main: url === undefined ? { driver: 'database', url: 'sqlite:./onqueue.sqlite' } : { driver: 'redis', url },
  },
  jobs: [${job}],
});
`;
}

/** @param file that of the job that it dispatches */
export function programText(job: string, file: string, language: Language): string {
  const lines = [
    `await ${job}.dispatch('ada@example.org');`,
    'console.log(`${await Queue.size()} waits`);',
    'await Queue.close();',
  ];
  const body = language.isModule
    ? lines.join('\n')
    : ['async function main() {', ...lines.map((line) => `  ${line}`), '}', '', 'void main();'].join('\n');
  // A program in TypeScript runs from its compiled files, and so has the compiled configuration.
  return `${imported('{ Queue }', 'onqueue', language)}
${language.isTyped ? "import configuration from '../onqueue.config.js';\n" : ''}${imported(`{ ${job} }`, from('src', file), language)}

${language.isTyped ? 'Queue.configure(configuration);\n\n' : ''}${body}
`;
}

export const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2022",
    "module": "nodenext",
    "strict": true,
    "experimentalDecorators": true,
    "types": ["node"],
    "rootDir": ".",
    "outDir": "dist"
  },
  "include": ["onqueue.config.ts", "src"]
}
`;

const isCommon = ({ isTyped, isModule }: Language): boolean => !isTyped && !isModule;

function imported(names: string, module: string, language: Language): string {
  return isCommon(language) ? `const ${names} = require('${module}');` : `import ${names} from '${module}';`;
}

/** How a file in `folder` names another one. */
function from(folder: string, file: string): string {
  return `./${posix.relative(folder, file).replace(/ts$/, 'js')}`;
}
