import { describe, expect, test } from "vitest";
import { findDependencyLayers } from "../../../src/images/rules/dependencies/dependency-layers.ts";
import {
  type RecognisedTestCommand,
  recogniseTestCommand,
} from "../../../src/tasks/rules/recognise-test-command.ts";
import { type Tree, trees } from "../images/sample-trees.ts";

function recognise(tree: Tree, { isOwn = false } = {}): RecognisedTestCommand {
  const commit = { paths: Object.keys(tree), readText: (path: string) => tree[path] };
  const { layers } = findDependencyLayers(commit, { ignoreScripts: false });
  return recogniseTestCommand(commit, { layers, isOwn });
}

const manifest = (more: object = {}): string =>
  JSON.stringify({ scripts: { test: "vitest run" }, dependencies: { a: "1.0.0" }, ...more });

const gemfile = { Gemfile: 'source "x"\ngem "rake"\n', "Gemfile.lock": "GEM\n  rake\n" };

describe("the tests of a repository", () => {
  test.each<[name: string, tree: Tree, command: string]>([
    ["npm", { ...trees.npm, "package.json": manifest() }, "npm test"],
    ["pnpm", { ...trees.pnpm, "package.json": manifest() }, "pnpm test"],
    ["yarn", { "package.json": manifest(), "yarn.lock": "# yarn lockfile v1\n" }, "yarn test"],
    ["bun", { ...trees.bun, "package.json": manifest() }, "bun run test"],
    ["no packages at all", { "package.json": '{"scripts":{"test":"node --test"}}' }, "npm test"],
    ["requirements", { "requirements.txt": "pytest==8\n", "pytest.ini": "[pytest]\n" }, "python3 -m pytest"],
    [
      "uv, with a package below src",
      {
        "pyproject.toml": "[project]\n[tool.pytest.ini_options]\n",
        "uv.lock": '[[package]]\nname = "pytest"\n',
        "src/app/__init__.py": "",
      },
      "PYTHONPATH=src python3 -m pytest",
    ],
    [
      "poetry, by its tests",
      { ...trees.poetry, "poetry.lock": '[[package]]\nname = "pytest"\n', "tests/unit/test_a.py": "" },
      "python3 -m pytest",
    ],
    [
      "setup.cfg",
      { "requirements-dev.txt": "pytest", "requirements.txt": "a", "setup.cfg": "[tool:pytest]\n" },
      "python3 -m pytest",
    ],
    ["cargo", trees.cargo, "cargo test"],
    ["cargo without a lockfile", { "Cargo.toml": '[package]\nname = "x"\n' }, "cargo test --offline"],
    ["go", trees.go, "go test ./..."],
    ["maven", trees.maven, "mvn --batch-mode test"],
    ["rake", { ...gemfile, Rakefile: "Rake::TestTask.new(:test)\n" }, "bundle exec rake test"],
    [
      "rspec",
      { Gemfile: 'gem "rspec"\n', "Gemfile.lock": "GEM\n", "spec/a_spec.rb": "" },
      "bundle exec rspec",
    ],
    ["make beside gems, which bring a compiler", { ...gemfile, Makefile: "lint test: a\n" }, "make test"],
    [
      "the first in the list where there are several",
      { ...trees.go, "package.json": '{"scripts":{"test":"node --test"}}' },
      "npm test",
    ],
  ])("%s", (_name, tree, command) => {
    expect(recognise(tree)).toMatchObject({ kind: "found", command, by: expect.stringMatching(/\w/) });
  });

  test.each<[name: string, tree: Tree, command: string]>([
    [
      "packages that get no layer",
      { ...trees.npm, ".dockerignore": "package*.json\n", "package.json": manifest() },
      "npm test",
    ],
    [
      "pytest that nobody installs",
      { "pyproject.toml": "[project]\n", "tests/test_a.py": "" },
      "python3 -m pytest",
    ],
    [
      "a Python environment without pytest",
      { "requirements.txt": "a\n", "pytest.ini": "" },
      "python3 -m pytest",
    ],
    ["gradle with its wrapper", { "build.gradle.kts": "", gradlew: "" }, "./gradlew test"],
    ["gradle", { "build.gradle": "" }, "gradle test"],
    ["composer", { "composer.json": '{"scripts":{"test":["phpunit"]}}' }, "composer test"],
    ["make", { Makefile: "all:\n\ntest: all\n\t./check\n" }, "make test"],
  ])("%s would fail whatever an agent does, except in an image of one's own", (_name, tree, command) => {
    expect(recognise(tree)).toMatchObject({ kind: "not in the image", command });
    expect(recognise(tree, { isOwn: true })).toMatchObject({ kind: "found", command });
  });

  test("what can run comes before what cannot", () => {
    const tree = {
      ...trees.go,
      Makefile: "test:\n",
      "package.json": manifest(),
      ".dockerignore": "package.json",
    };

    expect(recognise(tree)).toMatchObject({ kind: "found", command: "go test ./..." });
  });

  test("an image of one's own has the manager whose lockfile is there", () => {
    const tree = {
      "package.json": manifest(),
      "pnpm-lock.yaml": "lockfileVersion: '9.0'\n",
      ".dockerignore": "*",
    };

    expect(recognise(tree, { isOwn: true })).toMatchObject({ command: "pnpm test" });
  });

  test.each<[name: string, tree: Tree]>([
    [
      "npm's placeholder",
      { "package.json": '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}' },
    ],
    ["an empty script", { "package.json": '{"scripts":{"test":" "}}' }],
    ["a broken manifest", { "package.json": '{"scripts":' }],
    ["a script of another type", { "package.json": '{"scripts":{"test":7}}' }],
    ["tests below the root", { "web/package.json": manifest(), "web/package-lock.json": "{}" }],
    ["a variable of that name", { Makefile: "test := 1\ntest ::= 2\n.PHONY: test\ncontest:\n" }],
    ["Python without tests", { "requirements.txt": "flask\n", "tests/data.py": "" }],
    ["nothing", { "README.md": "test:" }],
  ])("%s is none", (_name, tree) => {
    expect(recognise(tree)).toEqual({ kind: "none" });
  });
});
