// Java: threads that compute until the JIT compiles their loops, locks, a concurrent map, parallel streams, exceptions and garbage
// in several collections. Output: deterministic. usage: JavaWork [hello]
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;

public class JavaWork {
    private static long shared;

    private static long spin(long seed, int rounds) {
        long x = seed;
        for (int i = 0; i < rounds; i++)
            x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    private static long garbage(int rounds) {
        long sum = 0;
        List<byte[]> kept = new ArrayList<>();
        for (int i = 0; i < rounds; i++) {
            byte[] b = new byte[20000];
            b[i % b.length] = (byte) i;
            if (i % 16 == 0)
                kept.add(b);
            if (kept.size() > 200)
                kept.clear();
            sum += b[i % b.length];
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        System.out.println("Hello from Java");
        if (args.length > 0)
            return;
        ExecutorService pool = Executors.newFixedThreadPool(4);
        ConcurrentHashMap<Integer, AtomicLong> map = new ConcurrentHashMap<>();
        List<Future<Long>> results = new ArrayList<>();
        for (int t = 0; t < 6; t++) {
            final int me = t;
            results.add(pool.submit(() -> {
                long x = spin(me, 30000000) + garbage(3000);
                for (int i = 0; i < 20000; i++)
                    map.computeIfAbsent(i % 97, k -> new AtomicLong()).incrementAndGet();
                for (int i = 0; i < 20000; i++)
                    synchronized (map) {
                        shared++;
                    }
                return x;
            }));
        }
        for (Future<Long> r : results)
            System.out.println(Long.toHexString(r.get()));
        pool.shutdown();
        System.gc();
        System.out.println("shared " + shared + " map " + map.values().stream().mapToLong(AtomicLong::get).sum());
        System.out.println("stream " + LongStream.range(0, 3000000).parallel().map(i -> i * i % 7).sum());
        try {
            Object nothing = new HashMap<String, String>().get("none");
            System.out.println(nothing.hashCode());
        } catch (NullPointerException e) {
            System.out.println("caught " + e.getClass().getSimpleName());
        }
        System.out.println("ok");
    }
}
