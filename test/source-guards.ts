import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Node, parseSync } from "oxc-parser";

/** A source file with its syntax tree. `file` is its path in the repository. */
export interface Source {
  readonly file: string;
  readonly text: string;
  readonly body: readonly Node[];
}

export function readSources(root: string, files: readonly string[]): Source[] {
  return files.map((file) => parseSource(file, readFileSync(join(root, file), "utf8")));
}

export function parseSource(file: string, text: string): Source {
  return { file, text, body: parseSync(file, text).program.body };
}

/** Files with more lines than a reader takes in at once. */
export function longFiles(sources: readonly Source[], maxLines: number): string[] {
  return sources.flatMap(({ file, text }) => {
    const lines = text.trimEnd().split("\n").length;
    return lines > maxLines ? [`${file}: ${lines} lines`] : [];
  });
}

/** Functions with more lines than a reader takes in at once, whether named, assigned or passed. */
export function longFunctions(sources: readonly Source[], maxLines: number): string[] {
  return sources.flatMap((source) =>
    nodesOf(source).flatMap((node) => {
      if (!isFunction(node)) return [];
      const lines = source.text.slice(node.start, node.end).split("\n").length;
      return lines > maxLines ? [`${placeOf(source, node)}: ${lines} lines`] : [];
    }),
  );
}

/** Object literals that are spread into another literal where they stand: `{ ...{ a, b }, c }`. */
export function spreadLiterals(sources: readonly Source[]): string[] {
  return findNodes(
    sources,
    (node) => node.type === "SpreadElement" && node.argument.type === "ObjectExpression",
  );
}

/** Decisions: `if`, `switch`, `?:` and `throw`. */
export function decisions(sources: readonly Source[]): string[] {
  const kinds = ["IfStatement", "SwitchStatement", "ConditionalExpression", "ThrowStatement"];
  return findNodes(sources, ({ type }) => kinds.includes(type));
}

/** Handlers of the process's events: `process.on(…)`. */
export function processHandlers(sources: readonly Source[]): string[] {
  return findNodes(
    sources,
    (node) =>
      node.type === "MemberExpression" &&
      node.object.type === "Identifier" &&
      node.object.name === "process" &&
      node.property.type === "Identifier" &&
      ["on", "once", "addListener", "prependListener"].includes(node.property.name),
  );
}

/** Names that a folder `rules/` exports, and that no other file of the product or its `users` imports. */
export function unusedRules(sources: readonly Source[], users: readonly Source[] = []): string[] {
  const used = new Set([...sources, ...users].flatMap((source) => namesImported(source)));
  return sources
    .filter(({ file }) => file.includes("/rules/"))
    .flatMap((source) =>
      namesExported(source)
        .filter((name) => !used.has(`${source.file} ${name}`))
        .map((name) => `${source.file}: ${name}`),
    );
}

function namesImported({ file, body }: Source): string[] {
  return body.flatMap((node) => {
    if (node.type !== "ImportDeclaration" && node.type !== "ExportNamedDeclaration") return [];
    const target = node.source?.value.startsWith(".") ? join(dirname(file), node.source.value) : null;
    if (target === null) return [];
    return node.specifiers.flatMap((each) => {
      const name = each.type === "ImportSpecifier" ? each.imported : "local" in each ? each.local : null;
      return name && "name" in name ? [`${target} ${String(name.name)}`] : [];
    });
  });
}

/** The values that a file exports. A type may be exported for a signature alone. */
function namesExported({ body }: Source): string[] {
  return body.flatMap((node) => {
    if (node.type !== "ExportNamedDeclaration" || !node.declaration) return [];
    const { declaration } = node;
    if (declaration.type === "FunctionDeclaration") return declaration.id ? [declaration.id.name] : [];
    if (declaration.type !== "VariableDeclaration") return [];
    return declaration.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []));
  });
}

/** The files that import each other in a circle, types included: one line for each circle. */
export function importCycles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      cycles.push([...path.slice(path.indexOf(file)), file].join(" → "));
      return;
    }
    if (done.has(file)) return;
    for (const target of imports.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return cycles;
}

/** Folders with more files than a listing shows at once. */
export function fullFolders(files: readonly string[], maxFiles: number): string[] {
  const counts = new Map<string, number>();
  for (const file of files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > maxFiles)
    .map(([folder, count]) => `${folder}: ${count} files`);
}

/**
 * Parameters of exported functions whose type has more members than a caller can know. The functions that
 * `index` exports are left aside: their options are a contract, which a schema describes.
 */
export function largeParameters(sources: readonly Source[], maxMembers: number, index?: Source): string[] {
  const types = new TypeIndex(sources);
  const published = index ? namesImported(index) : [];
  return sources.flatMap((source) =>
    exportedFunctions(source)
      .filter(({ name }) => !published.includes(`${source.file} ${name}`))
      .flatMap(({ name, parameters }) =>
        parameters.flatMap((parameter) => {
          const annotation = "typeAnnotation" in parameter ? parameter.typeAnnotation : null;
          const type = annotation && "typeAnnotation" in annotation ? annotation.typeAnnotation : null;
          const members = type ? types.membersOf(source.file, type) : new Set();
          return members.size > maxMembers ? [`${source.file} ${name}: ${members.size} members`] : [];
        }),
      ),
  );
}

interface ExportedFunction {
  readonly name: string;
  readonly parameters: readonly Node[];
}

function exportedFunctions({ body }: Source): ExportedFunction[] {
  return body.flatMap((node): ExportedFunction[] => {
    if (node.type !== "ExportNamedDeclaration" || !node.declaration) return [];
    const { declaration } = node;
    if (declaration.type === "FunctionDeclaration")
      return [{ name: declaration.id?.name ?? "", parameters: declaration.params.map(unwrapped) }];
    if (declaration.type !== "VariableDeclaration") return [];
    return declaration.declarations.flatMap(({ id, init }) =>
      init?.type === "ArrowFunctionExpression" && id.type === "Identifier"
        ? [{ name: id.name, parameters: init.params.map(unwrapped) }]
        : [],
    );
  });
}

function unwrapped(parameter: Node): Node {
  return parameter.type === "AssignmentPattern" ? parameter.left : parameter;
}

/** Finds the members of the interfaces and type aliases of all sources. */
class TypeIndex {
  readonly #declarations = new Map<string, Node>();
  readonly #imports = new Map<string, readonly [file: string, name: string]>();

  constructor(sources: readonly Source[]) {
    for (const { file, body } of sources)
      for (const statement of body) {
        const node =
          statement.type === "ExportNamedDeclaration" && statement.declaration
            ? statement.declaration
            : statement;
        if (node.type === "TSInterfaceDeclaration" || node.type === "TSTypeAliasDeclaration")
          this.#declarations.set(`${file} ${node.id.name}`, node);
        if (node.type !== "ImportDeclaration" || !node.source.value.startsWith(".")) continue;
        const target = join(dirname(file), node.source.value);
        for (const each of node.specifiers)
          if (each.type === "ImportSpecifier" && each.imported.type === "Identifier")
            this.#imports.set(`${file} ${each.local.name}`, [target, each.imported.name]);
      }
  }

  /** The names of the members of a type; empty if the type is not an object of this repository. */
  membersOf(file: string, type: Node): Set<string> {
    switch (type.type) {
      case "TSTypeLiteral":
        return namesIn(type.members);
      case "TSIntersectionType":
        return new Set(type.types.flatMap((each) => [...this.membersOf(file, each)]));
      case "TSUnionType":
        return type.types
          .map((each) => this.membersOf(file, each))
          .reduce((most, each) => (each.size > most.size ? each : most), new Set<string>());
      case "TSParenthesizedType":
        return this.membersOf(file, type.typeAnnotation);
      case "TSTypeReference":
        return type.typeName.type === "Identifier"
          ? this.#membersOfReference(file, type.typeName.name, type.typeArguments?.params ?? [])
          : new Set();
      default:
        return new Set();
    }
  }

  #membersOfReference(file: string, name: string, given: readonly Node[]): Set<string> {
    const [first, second] = given;
    if (first && ["Readonly", "Partial", "Required", "NonNullable"].includes(name))
      return this.membersOf(file, first);
    if (first && second && name === "Pick") return new Set(literalsIn(second));
    if (first && second && name === "Omit") {
      const left = literalsIn(second);
      return new Set([...this.membersOf(file, first)].filter((member) => !left.includes(member)));
    }
    const imported = this.#imports.get(`${file} ${name}`);
    if (imported) return this.#membersOfReference(...imported, given);
    const declaration = this.#declarations.get(`${file} ${name}`);
    if (declaration?.type === "TSTypeAliasDeclaration")
      return this.membersOf(file, declaration.typeAnnotation);
    if (declaration?.type !== "TSInterfaceDeclaration") return new Set();
    const inherited = declaration.extends.flatMap(({ expression, typeArguments }) =>
      expression.type === "Identifier"
        ? [...this.#membersOfReference(file, expression.name, typeArguments?.params ?? [])]
        : [],
    );
    return new Set([...namesIn(declaration.body.body), ...inherited]);
  }
}

function namesIn(members: readonly Node[]): Set<string> {
  return new Set(
    members.flatMap((member) =>
      (member.type === "TSPropertySignature" || member.type === "TSMethodSignature") && "name" in member.key
        ? [String(member.key.name)]
        : [],
    ),
  );
}

function literalsIn(type: Node): string[] {
  if (type.type === "TSUnionType") return type.types.flatMap(literalsIn);
  return type.type === "TSLiteralType" && "value" in type.literal ? [String(type.literal.value)] : [];
}

function findNodes(sources: readonly Source[], isWanted: (node: Node) => boolean): string[] {
  return sources.flatMap((source) =>
    nodesOf(source)
      .filter(isWanted)
      .map((node) => placeOf(source, node)),
  );
}

function isFunction({ type }: Node): boolean {
  return ["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"].includes(type);
}

function placeOf({ file, text }: Source, { start }: Node): string {
  return `${file}:${text.slice(0, start).split("\n").length}`;
}

function nodesOf({ body }: Source): Node[] {
  const found: Node[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    else if (typeof value === "object" && value !== null) {
      if ("type" in value && "start" in value) found.push(value as Node);
      Object.values(value).forEach(visit);
    }
  };
  visit(body);
  return found;
}
