import vm, { createContext } from 'node:vm';

const SOURCE = 'module.seen = typeof only; throw new Error("here");';

/** As Jest compiles a module for a test file. */
const compiled = (source: string, parsingContext: object): ((module: { seen?: string }) => void) =>
  vm.compileFunction(source, ['module', 'exports'], { filename: '/project/module.js', parsingContext }) as () => void;

describe('a module that several test files load', () => {
  it('sees the globals of the file that loads it', () => {
    const files = [createContext({ only: 1 }), createContext({}), createContext({ only: 'text' })];

    const seen = files.map((file) => {
      const module: { seen?: string } = {};
      expect(() => compiled(SOURCE, file)(module)).toThrow('here');
      return module.seen;
    });

    expect(seen).toEqual(['number', 'undefined', 'string']);
  });

  it('shows the places of its errors as they are in the file', () => {
    const place = (): unknown => {
      try {
        compiled(SOURCE, createContext({}))({});
        return undefined;
      } catch (error) {
        return /module\.js:\d+:\d+/.exec((error as Error).stack!)?.[0];
      }
    };

    expect([place(), place()]).toEqual(Array(2).fill(`module.js:1:${SOURCE.indexOf('new Error') + 1}`));
  });

  it('is compiled anew when its text has changed', () => {
    const module = {};
    compiled('module.seen = "after";', createContext({}))(module);
    expect(module).toEqual({ seen: 'after' });
  });
});
