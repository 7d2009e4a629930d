/* The real workbench of VS Code for tests: code-server from the npm registry, installed into build/workbench as far as it can be without anything else from
 * outside, and one of them at work with a folder, settings and our package. */
import {execFileSync, spawn} from "node:child_process";
import {existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync} from "node:fs";
import {dirname, join} from "node:path";

const VERSION = "4.96.4"; /* VS Code 1.96; wants node 20 */
const NODE = 20;
const STEP_MS = 300000;
const START_MS = 60000;

/** Why it cannot be installed here, or null. */
export function unfit() {
	if (Number(process.versions.node.split(".")[0]) !== NODE)
		return `code-server ${VERSION} wants node ${NODE}, this is ${process.version}`;
	return null;
}

function npm(cwd, ...words) {
	execFileSync("npm", [...words, "--no-audit", "--no-fund", "--silent"], {cwd, stdio: ["ignore", "ignore", "pipe"], timeout: STEP_MS});
}

/* One dependency is named by its place in a git repository, which cannot be reached; the registry has the same version. */
function registryOnly(file) {
	const lock = JSON.parse(readFileSync(file, "utf8"));

	for (const one of Object.values(lock.packages).filter(({resolved}) => resolved?.startsWith("git"))) {
		delete one.resolved;
		delete one.integrity;
	}
	writeFileSync(file, JSON.stringify(lock));
}

/** Installs where it is not yet (about a minute, 300 MB); the path of its entry. Scripts of packages download binaries, so none runs, and of the native parts only
 * the one is built without which it does not start: no terminal, no search, no log files. */
export function install(dir) {
	const server = join(dir, "node_modules/code-server");
	const code = join(server, "lib/vscode");
	const done = join(dir, `installed-${VERSION}`);

	if (existsSync(done))
		return join(server, "out/node/entry.js");
	rmSync(dir, {recursive: true, force: true});
	mkdirSync(dir, {recursive: true});
	writeFileSync(join(dir, "package.json"), "{\"private\": true}\n");
	npm(dir, "install", "--ignore-scripts", `code-server@${VERSION}`);
	npm(dir, "rebuild", `--nodedir=${dirname(dirname(process.execPath))}`, "argon2");
	registryOnly(join(code, "npm-shrinkwrap.json"));
	npm(code, "install", "--omit=dev", "--ignore-scripts");
	symlinkSync("node_modules", join(code, "node_modules.asar"));
	rmSync(join(code, "node_modules/node-pty/prebuilds"), {recursive: true, force: true});
	writeFileSync(`${done}.new`, "");
	renameSync(`${done}.new`, done);
	return join(server, "out/node/entry.js");
}

/** Starts one with directories of its own below dir: {url, close()}. */
export async function start(entry, dir, {vsix, settings, env}) {
	const words = ["--user-data-dir", join(dir, "data"), "--extensions-dir", join(dir, "extensions")];
	const options = {env: {...process.env, ...env, XDG_CONFIG_HOME: join(dir, "config"), XDG_DATA_HOME: join(dir, "share")}};

	for (const place of ["User", "Machine"]) {
		mkdirSync(join(dir, "data", place), {recursive: true});
		writeFileSync(join(dir, "data", place, "settings.json"), JSON.stringify(settings));
	}
	execFileSync(process.execPath, [entry, ...words, "--install-extension", vsix], {...options, stdio: "pipe", timeout: START_MS});
	const child = spawn(process.execPath, [entry, ...words, "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check",
		"--disable-workspace-trust", "--disable-getting-started-override"], {...options, stdio: ["ignore", "pipe", "pipe"]});
	const gone = new Promise(resolve => child.once("exit", resolve));
	const close = async () => {
		child.kill();
		await gone;
	};

	try {
		return {url: await address(child), close};
	} catch (error) {
		await close();
		throw error;
	}
}

/* It says in a line where it listens. */
function address(child) {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => reject(new Error(`code-server does not start: ${said.slice(-500)}`)), START_MS);
		let said = "";

		for (const stream of [child.stdout, child.stderr])
			stream.on("data", chunk => {
				const at = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(said += chunk);

				if (at) {
					clearTimeout(timer);
					resolve(at[1]);
				}
			});
		child.once("exit", code => reject(new Error(`code-server ended (${code}): ${said.slice(-500)}`)));
	});
}
