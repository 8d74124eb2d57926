import type * as Mapping from '../../src/payload/mapping';

const STORAGE = 'class-transformer/cjs/storage';
const OTHER_STORAGE = 'class-transformer/esm5/storage';
const OTHER_EXECUTOR = 'class-transformer/esm5/TransformOperationExecutor';

const missing = (): never => {
  throw Object.assign(new Error("Cannot find module 'class-transformer'"), { code: 'MODULE_NOT_FOUND' });
};

/** Loads the mapping in a separate module registry, in which packages may be replaced first. */
const withMapping = (replace: () => void, use: (mapping: typeof Mapping) => void): void => {
  jest.isolateModules(() => {
    replace();
    use(jest.requireActual<typeof Mapping>('../../src/payload/mapping'));
  });
};

class SendEmail {
  to = 'ada';
}

describe("class-transformer's store of decorators", () => {
  afterEach(() => {
    for (const name of ['class-transformer', STORAGE, OTHER_STORAGE, OTHER_EXECUTOR]) jest.dontMock(name);
  });

  it('is not needed if the package is not installed', () => {
    expect.assertions(2);
    withMapping(
      () => jest.doMock('class-transformer', missing),
      ({ mapsByClassTransformer, toInstance }) => {
        expect(mapsByClassTransformer(SendEmail)).toBe(false);
        expect(toInstance(SendEmail, { to: 'bo' }, '')).toBeInstanceOf(SendEmail);
      },
    );
  });

  it('is looked up in the build of the package that the decorators write to', () => {
    expect.assertions(2);
    withMapping(
      () => {
        const { Exclude } = jest.requireActual<typeof import('class-transformer')>('class-transformer');
        Exclude()(SendEmail.prototype, 'to');
        const storage = jest.requireActual<object>(STORAGE);
        const executor = jest.requireActual<object>('class-transformer/cjs/TransformOperationExecutor');
        jest.doMock(STORAGE, missing);
        jest.doMock(OTHER_STORAGE, () => storage);
        jest.doMock(OTHER_EXECUTOR, () => executor);
      },
      ({ mapsByClassTransformer }) => {
        expect(mapsByClassTransformer(SendEmail)).toBe(true);
        expect(mapsByClassTransformer(Map)).toBe(false);
      },
    );
  });

  it('must be found, because missing an @Exclude would send what was excluded', () => {
    expect.assertions(1);
    withMapping(
      () => {
        jest.requireActual('class-transformer');
        const copy = { defaultMetadataStorage: { _exposeMetadatas: new Map() } };
        jest.doMock(STORAGE, () => copy);
        jest.doMock(OTHER_STORAGE, () => copy);
        jest.doMock(OTHER_EXECUTOR, () => ({}));
      },
      ({ mapsByClassTransformer }) => {
        expect(() => mapsByClassTransformer(SendEmail)).toThrow('mark it as external in the bundler');
      },
    );
  });
});
