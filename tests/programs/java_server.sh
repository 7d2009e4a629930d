# java: a small HTTP server with a thread pool and its clients, compiled and run. Deterministic as far as printed.
set -eu
command -v javac >/dev/null || { echo "skip: no javac"; exit 77; }
cat >Small.java <<'JAVA'
import com.sun.net.httpserver.HttpServer;
import java.io.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;

public class Small {
	public static void main(String[] args) throws Exception {
		HttpServer s = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
		ExecutorService pool = Executors.newFixedThreadPool(3);
		s.setExecutor(pool);
		s.createContext("/", x -> {
			byte[] b = ("answer to " + x.getRequestURI()).getBytes(StandardCharsets.UTF_8);
			x.sendResponseHeaders(200, b.length);
			try (OutputStream o = x.getResponseBody()) { o.write(b); }
		});
		s.start();
		ExecutorService clients = Executors.newFixedThreadPool(4);
		List<Future<String>> got = new ArrayList<>();
		for (int i = 0; i < 8; i++) {
			URL u = new URL("http://127.0.0.1:" + s.getAddress().getPort() + "/" + i);
			got.add(clients.submit(() -> {
				try (BufferedReader r = new BufferedReader(new InputStreamReader(u.openStream()))) { return r.readLine(); }
			}));
		}
		for (Future<String> f : got)
			System.out.println(f.get());
		clients.shutdown();
		s.stop(0);
		pool.shutdown();
		System.exit(4);
	}
}
JAVA
javac -nowarn Small.java 2>/dev/null
exec java -XX:+UseSerialGC -Xshare:auto Small 2>/dev/null
