// A server of com.sun.net.httpserver with four threads; http_load.outside.sh asks it and ends it by SIGTERM, for which it has a
// shutdown hook. Output: deterministic.
import com.sun.net.httpserver.HttpServer;
import java.io.OutputStream;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

public class JavaHttp {
    public static void main(String[] args) throws Exception {
        AtomicInteger served = new AtomicInteger();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
        server.createContext("/hash/", exchange -> {
            try {
                byte[] sum = exchange.getRequestURI().getPath().getBytes();
                for (int i = 0; i < 2000; i++)
                    sum = MessageDigest.getInstance("SHA-256").digest(sum);
                byte[] answer = String.format("%064x\n", new BigInteger(1, sum)).getBytes();
                exchange.sendResponseHeaders(200, answer.length);
                try (OutputStream out = exchange.getResponseBody()) {
                    out.write(answer);
                }
                served.incrementAndGet();
            } catch (java.security.NoSuchAlgorithmException e) {
                throw new IllegalStateException(e);
            }
        });
        server.createContext("/echo", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(200, body.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(body);
            }
            served.incrementAndGet();
        });
        server.setExecutor(Executors.newFixedThreadPool(4));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            server.stop(0);
            System.out.println("served " + served);
            System.out.println("stopped");
            Runtime.getRuntime().halt(0);
        }));
        server.start();
        Files.writeString(Path.of("pid"), String.valueOf(ProcessHandle.current().pid()));
        Files.writeString(Path.of("port.new"), String.valueOf(server.getAddress().getPort()));
        Files.move(Path.of("port.new"), Path.of("port"), StandardCopyOption.ATOMIC_MOVE);
    }
}
