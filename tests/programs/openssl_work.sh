# openssl: digests, ciphers, keys, signatures, certificates, a TLS server and client of its own. Keys and nonces differ.
set -eu
seq 1 50000 >data
openssl dgst -sha256 data
openssl dgst -sha512 -hmac key data
openssl enc -aes-256-cbc -pbkdf2 -pass pass:secret -in data -out data.enc
openssl enc -d -aes-256-cbc -pbkdf2 -pass pass:secret -in data.enc | cmp - data && echo decrypted
openssl rand -hex 16
openssl genpkey -algorithm rsa -pkeyopt rsa_keygen_bits:1024 -out rsa.pem 2>/dev/null
openssl pkey -in rsa.pem -pubout -out pub.pem
openssl dgst -sha256 -sign rsa.pem -out sig data
openssl dgst -sha256 -verify pub.pem -signature sig data
sha256sum sig
openssl genpkey -algorithm ed25519 -out ed.pem
openssl req -x509 -key ed.pem -out cert.pem -days 3 -subj /CN=here
openssl x509 -in cert.pem -noout -subject -serial -dates
openssl verify -CAfile cert.pem cert.pem
port=$((20000 + $$ % 20000))
openssl s_server -accept 127.0.0.1:$port -cert cert.pem -key ed.pem -naccept 1 -quiet -rev >server.out 2>&1 &
i=0
while [ $i -lt 50 ]; do
	i=$((i + 1))
	if (echo hello tls; sleep 0.3) | openssl s_client -connect 127.0.0.1:$port -CAfile cert.pem -quiet -no_ign_eof >client.out 2>client.err; then
		break
	fi
	sleep 0.1
done
cat client.out
kill $! 2>/dev/null || :
wait
echo "connections tried: $i"
